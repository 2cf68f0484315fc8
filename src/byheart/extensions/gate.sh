#!/bin/sh
# Written by byheart install. An agent calls this before and after its tools; most calls are nothing that memory knows of, and those end
# here, without starting Python.
home={{home}}
input=$(cat)
case "$2" in
pre-tool)
    [ -s "$home/state/briefs/words.txt" ] || exit 0
    printf '%s' "$input" | grep -qFw -f "$home/state/briefs/words.txt" || exit 0
    ;;
post-tool)
    if [ ! -e "$home/state/moments/open" ]; then
        case "$input" in
        *[Ee]rror* | *ERR* | *ail* | *FAIL* | *atal* | *annot* | *"an't"* | *"ot found"* | *"o such"* | *enied* | *nknown* | *nvalid* | *xception* | *anic* | *issing* | *efused* | *nexpected* | *onflict* | *"imed out"* | *bort* | *"not exist"*) ;;
        *) exit 0 ;;
        esac
    fi
    ;;
esac
[ -x {{python}} ] || exit 0
printf '%s' "$input" | {{variables}}{{command}} "$@"
exit 0
