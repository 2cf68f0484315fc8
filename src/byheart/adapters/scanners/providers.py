"""Token formats that providers publish: a prefix or shape that nothing else has.

Each row is name, pattern, hints. Patterns are RE2 on UTF-8 bytes. Lengths are lower bounds where a provider has
changed them over time, since a longer match is still the secret.
"""

from __future__ import annotations

import re

from byheart.adapters.scanners.rules import Rule, entropy, placeholder


def _real(value: str, *_: str) -> bool:
    return not re.search(r"[xX*]{6,}|EXAMPLE$|\.\.\.", value)


def _varied(value: str, *_: str) -> bool:
    return not placeholder(value) and any(each.isdigit() for each in value) and entropy(value) >= 3.0


# A token may follow right behind what ends in a letter or a digit: an escape (\n, %20), a colour, another name. Patterns that begin
# with any letters at all need the word to begin there.
_GLUED = r"(?:\\b|[a-z0-9_])"
_LOOSE = frozenset({"azure-devops-token", "azure-search-key", "firebase-server-key", "google-refresh-token"})
_DISTINCT = r"""
aws-access-key-id     \b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b     a3t akia asia abia acca
aws-bedrock-key       \b(?:ABSK[A-Za-z0-9+/]{60,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{30,})     absk bedrock-api-key
github-token          \bgh[pousr]_[A-Za-z0-9]{36,}     ghp_ gho_ ghu_ ghs_ ghr_
github-fine-grained   \bgithub_pat_[A-Za-z0-9_]{22,}     github_pat_
gitlab-token          \bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[A-Za-z0-9_.-]{17,}     glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-
gitlab-runner         \bGR1348941[A-Za-z0-9_-]{16,}     gr1348941
slack-token           \bxox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}     xox
slack-app-token       \bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[A-Za-z0-9]+     xapp-
slack-webhook         hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}     hooks.slack.com
stripe-key            \b(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}     sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_
webhook-secret        \bwhsec_[A-Za-z0-9+/=]{20,}     whsec_
openai-key            \bsk-(?:[A-Za-z0-9_-]{0,200}T3BlbkFJ[A-Za-z0-9_-]{10,}|(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,})     sk-
anthropic-key         \bsk-ant-[a-z0-9]+-[A-Za-z0-9_-]{24,}     sk-ant-
openrouter-key        \bsk-or-v1-[0-9a-f]{40,}     sk-or-v1-
perplexity-key        \bpplx-[A-Za-z0-9]{32,}     pplx-
groq-key              \bgsk_[A-Za-z0-9]{40,}     gsk_
xai-key               \bxai-[A-Za-z0-9_]{60,}     xai-
nvidia-key            \bnvapi-[A-Za-z0-9_-]{40,}     nvapi-
huggingface-token     \b(?:hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,})     hf_ api_org_
replicate-token       \br8_[A-Za-z0-9]{36,}     r8_
langsmith-key         \blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}     lsv2_
langfuse-key          \bsk-lf-[0-9a-f-]{30,}     sk-lf-
pinecone-key          \bpcsk_[A-Za-z0-9_]{40,}     pcsk_
google-api-key        \bAIza[0-9A-Za-z_-]{35}     aiza
google-oauth-token    \bya29\.[A-Za-z0-9_-]{20,}     ya29.
google-client-secret  \bGOCSPX-[A-Za-z0-9_-]{6,}     gocspx-
google-refresh-token  \b1//0[A-Za-z0-9_-]{30,}     1//0
google-service-account "type"\s{0,4}:\s{0,4}"service_account"     service_account
firebase-server-key   \bAAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{100,}     aaaa
azure-client-secret   [A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{28,}     q~
azure-devops-token    \b[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}\b     azdo
azure-account-key     (?i)(?:AccountKey|SharedAccessKey|SharedSecretIssuer)\s{0,3}=\s{0,3}[A-Za-z0-9+/]{20,}={0,2}     accountkey sharedaccesskey sharedsecretissuer
azure-app-config      \.azconfig\.io;Id=[^;\s]{4,80};Secret=[A-Za-z0-9+/]{20,}={0,2}     azconfig.io
azure-sas             [?&]sig=[A-Za-z0-9%+/]{40,}     sig=
azure-search-key      \b[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}     azse
digitalocean-token    \bdo[opr]_v1_[a-f0-9]{64}     doo_v1_ dop_v1_ dor_v1_
doppler-token         \bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{36,}     dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.
npm-token             \bnpm_[A-Za-z0-9]{36}     npm_
pypi-token            \bpypi-AgE[A-Za-z0-9_-]{50,}     pypi-age
rubygems-key          \brubygems_[a-f0-9]{48}     rubygems_
clojars-token         \bCLOJARS_[a-z0-9]{60}     clojars_
nuget-key             \boy2[a-z0-9]{43}\b     oy2
packagist-token       \bpackagist_[a-z]{3,4}_[a-f0-9]{60,}     packagist_
sendgrid-key          \bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}     sg.
mailgun-key           \b(?:pub)?key-[a-f0-9]{32}\b     key-
mailchimp-key         \b[a-f0-9]{32}-us[0-9]{1,2}\b     -us
sendinblue-key        \bx(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}     sib-
postmark-resend-key   \bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}     re_
telnyx-key            \bKEY[0-9A-F]{32}_[A-Za-z0-9]{20,}     key0 key1
square-token          \bsq0(?:atp|csp|idp|idk)-[A-Za-z0-9_-]{20,}     sq0
square-access-token   \bEAAA[A-Za-z0-9_+=-]{56,}     eaaa
shopify-token         \bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}     shpat_ shpca_ shppa_ shpss_
databricks-token      \bdapi[a-f0-9]{32}(?:-[0-9])?     dapi
discord-webhook       discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{30,}     /webhooks/
teams-webhook         \.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{40,}     webhook.office.com
telegram-token        \b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}\b     :aa
heroku-key            \bHRKU-AA[A-Za-z0-9_-]{40,}     hrku-
json-web-token        \beyJ[A-Za-z0-9_-]{14,}\.[A-Za-z0-9_-]{15,}(?:\.[A-Za-z0-9_-]+)?     eyj
age-secret-key        \bAGE-SECRET-KEY-1[A-Z0-9]{50,}     age-secret-key
vault-token           \bhv[sbr]\.[A-Za-z0-9_-]{24,}     hvs. hvb. hvr.
onepassword-token     \bops_eyJ[A-Za-z0-9+/=]{50,}     ops_eyj
onepassword-key       \bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{6}-[A-Z0-9]{5}|[A-Z0-9]{11})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}     a3-
supabase-token        \b(?:sbp_[a-z0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})     sbp_ sb_secret_
notion-token          \b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})\b     ntn_ secret_
linear-key            \blin_(?:api|oauth)_[A-Za-z0-9]{32,}     lin_api_ lin_oauth_
atlassian-token       \b(?:ATATT3|ATCTT3|ATSTT3)[A-Za-z0-9_=-]{60,}|\bATBB[A-Za-z0-9]{32}\b     atatt3 atctt3 atstt3 atbb
airtable-token        \bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}     pat
asana-token           \b[0-2]/[0-9]{10,}(?:/[0-9]{10,})?:[a-f0-9]{32}     0/ 1/ 2/
clickup-token         \bpk_[0-9]{6,10}_[A-Z0-9]{32}     pk_
figma-token           \bfig[dour]{1,2}_[A-Za-z0-9_-]{36,}     figd_ figo_ figu_ figor_ figur_
dropbox-token         \bsl\.(?:u\.)?[A-Za-z0-9_-]{120,}     sl.
docker-token          \bdckr_[po]at_[A-Za-z0-9_-]{20,}     dckr_
circleci-token        \bCCIP(?:AT|RJ)_[A-Za-z0-9]{20,}_[a-f0-9]{40}|\bCCIPAT_[A-Za-z0-9_]{40,}     ccip
buildkite-token       \bbk(?:ua|at|ct)_[A-Za-z0-9]{30,}     bkua_ bkat_ bkct_
planetscale-token     \bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}     pscale_
grafana-token         \bgl(?:c_[A-Za-z0-9+/=]{32,}|sa_[A-Za-z0-9]{32}_[a-f0-9]{8})     glc_ glsa_
newrelic-key          \bNR(?:AK|II|IQ|RA|JS|BR)-[A-Za-z0-9_-]{19,}     nrak- nrii- nriq- nrra- nrjs- nrbr-
sentry-token          \bsntry(?:s_eyJ[A-Za-z0-9+/=_]{60,}|u_[a-f0-9]{64})     sntry
sonar-token           \bsq[uap]_[a-f0-9]{40}\b     squ_ sqa_ sqp_
sourcegraph-token     \bsg(?:p|d|m)_(?:[A-Za-z0-9]{16}_|local_)?[a-f0-9]{40}     sgp_ sgd_ sgm_
fly-token             \bfo1_[A-Za-z0-9_-]{40,}|\bfm[12][ar]?_[A-Za-z0-9+/=_-]{80,}     fo1_ fm1 fm2
render-key            \brnd_[A-Za-z0-9]{28,}     rnd_
netlify-token         \bnf[pcuo]_[A-Za-z0-9]{36,}     nfp_ nfc_ nfu_ nfo_
vercel-token          \bvc[pkiar]_[A-Za-z0-9]{50,}     vcp_ vck_ vci_ vca_ vcr_
cloudflare-origin-key \bv1\.0-[a-f0-9]{24}-[a-f0-9]{100,}     v1.0-
terraform-token       \b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}     .atlasv1.
pulumi-token          \bpul-[a-f0-9]{40}     pul-
artifactory-key       \b(?:AKCp[A-Za-z0-9]{40,}|cmVmdGtu[A-Za-z0-9]{50,})     akcp cmvmdgtu
postman-key           \bPMAK-[a-f0-9]{24}-[a-f0-9]{34}     pmak-
shippo-token          \bshippo_(?:live|test)_[a-f0-9]{40}     shippo_
easypost-token        \bEZ[AT]K[A-Za-z0-9]{54}     ezak eztk
duffel-token          \bduffel_(?:live|test)_[A-Za-z0-9_-]{40,}     duffel_
typeform-token        \btfp_[A-Za-z0-9_.=-]{40,}     tfp_
tailscale-key         \btskey-[a-z]+-[A-Za-z0-9_-]{16,}     tskey-
plaid-token           \baccess-(?:sandbox|development|production)-[0-9a-f-]{36}     access-sandbox access-development access-production
flutterwave-key       \bFLW(?:PUB|SEC)K(?:_TEST)?-[A-Za-z0-9]{12,}     flwpubk flwseck
razorpay-key          \brzp_(?:live|test)_[A-Za-z0-9]{14,}     rzp_
braintree-token       access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}     access_token$
adobe-client-secret   \bp8e-[A-Za-z0-9]{32}\b     p8e-
tencent-key-id        \bAKID[A-Za-z0-9]{32}\b     akid
facebook-token        \bEAA(?:CEdEose0cBA|[A-Za-z0-9]{2})[A-Za-z0-9]{60,}|\bEAACEdEose0cBA[A-Za-z0-9]{10,}     eaa
twitter-bearer        \bA{20,}[A-Za-z0-9%]{60,}     aaaaaaaaaaaaaaaaaaaa
twitch-linkedin-oauth \boauth:[a-z0-9]{30}\b     oauth:
workato-token         \bwrk[a-z]{1,4}-eyJ[A-Za-z0-9._-]{20,}     -eyj
zuplo-key             \bzpka_[a-f0-9]{32}_[a-f0-9]{8}     zpka_
devin-key             \b(?:apk_(?:user_)?[A-Za-z0-9=]{60,}|cog_[a-z0-9]{40,})     apk_ cog_
deno-token            \bdd[pow]_[A-Za-z0-9]{30,}     ddp_ ddo_ ddw_
aikido-token          \bAIK_[A-Z]+_[A-Za-z0-9_]{20,}     aik_
contentful-token      \bCFPAT-[A-Za-z0-9_-]{40,}     cfpat-
prefect-key           \bpn[ub]_[A-Za-z0-9]{36}     pnu_ pnb_
readme-key            \brdme_[a-z0-9]{60,}     rdme_
infracost-key         \bico-[A-Za-z0-9]{32}     ico-
harness-token         \b(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}     pat. sat.
maxmind-key           \b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk     _mmk
mapbox-token          \bsk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}     sk.eyj
openshift-token       \bsha256~[A-Za-z0-9_-]{40,}     sha256~
checkout-key          \bsk_(?:sbox_)?[a-z0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}     sk_
cursor-key            \b(?:crsr|key)_[a-f0-9]{60,}     crsr_ key_
kubernetes-hash       \bbootstrap-token-[a-z0-9]{6}\b     bootstrap-token-
putty-key             PuTTY-User-Key-File-[0-9]:     putty-user-key-file
"""

# Shapes that ordinary text can take by chance: a match also has to look random.
_RANDOM = r"""
fireworks-key         \bfw_[A-Za-z0-9]{22,}\b     fw_
crates-token          \bcio[A-Za-z0-9]{32}\b     cio
twilio-key            \bSK[a-f0-9]{32}\b     sk
discord-bot-token     \b[A-Z][A-Za-z0-9]{22,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}     .
alibaba-key-id        \bLTAI[A-Za-z0-9]{12,26}\b     ltai
facebook-app-token    \b[0-9]{13,17}\|[A-Za-z0-9_-]{27}     |
octopus-key           \bAPI-[A-Z0-9]{25,}\b     api-
brave-search-key      \bBSA[A-Za-z0-9_-]{24,29}\b     bsa
databento-key         \bdb-[A-Za-z0-9]{28,30}\b     db-
klaviyo-key           \bpk_[A-Za-z0-9]{34}\b     pk_
vault-legacy-token    \bs\.[A-Za-z0-9]{24}\b     s.
"""


def provider_rules() -> list[Rule]:
    """Both tables as rules, in their order."""
    rules = []
    for table, accept in ((_DISTINCT, _real), (_RANDOM, _varied)):
        for row in table.strip().splitlines():
            name, rest = row.split(None, 1)
            pattern, hints = re.split(r" {5}", rest, maxsplit=1)
            if accept is _real and name not in _LOOSE:
                pattern = re.sub(r"^\\b", _GLUED, pattern)
            rules.append(Rule(name=name, pattern=pattern.strip(), hints=tuple(hints.split()), accept=accept))
    return rules
