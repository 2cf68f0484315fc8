"""Token formats that providers publish: a prefix or shape that nothing else has.

Each row is name, pattern, hints. Patterns are RE2 on UTF-8 bytes. Lengths are lower bounds where a provider has
changed them over time, since a longer match is still the secret.
"""

from __future__ import annotations

import re

from byheart.storage.scanners.rules import ScanRule, entropy, placeholder


def _real(value: str, *_: str) -> bool:
    """Whether a token is none that documents show: filled with crosses or stars, or cut short."""
    if "hooks." in value:
        # An address that somebody made up has another shape than theirs; one with crosses for letters still names its team.
        return not re.search(r"X{6,}|0{8,}|\*{3,}|\.\.\.", value)
    return not re.search(r"[xX*]{6,}|EXAMPLE$|\.\.\.", value)


def _varied(value: str, *_: str) -> bool:
    if placeholder(value) or not any(map(str.isdigit, value)) or entropy(value) < 3.0:
        return False
    # Words with a number between dots or colons are names: session.identifier, 12345678:feature-branch.
    pieces = [piece for piece in re.split(r"[-_.:]", value) if piece]
    return not all((piece.isalpha() and len(piece) < 20) or piece.isdigit() for piece in pieces)


# What a token may follow: anything but a letter or digit that it could be a part of; a small letter or a digit, as names and other
# escapes end in; or an escape that ends in a capital (%3D, \\u003D), or a colour.
_BOUNDARY = r"(?:^|[^A-Za-z0-9]|[a-z0-9]|%[0-9A-Fa-f]{2}|\\[uUxX][0-9A-Fa-f]{2,8}|\\[A-Za-z])"
_WORD_BOUNDARY = r"(?:^|[^A-Za-z0-9_]|%[0-9A-Fa-f]{2}|\\[uUxX][0-9A-Fa-f]{2,8}|\\[nrtbf]|\x1b\[[0-9;]{0,12}m)"
# Shorter hints stand everywhere.
_SHORTEST_HINT = 3
_NEAR, _FAR = 48, 140
_OVER_LINES = frozenset({"ansible-vault", "putty-key"})
# A prefix as long as this, with a sign in it, is no part of anything else, whatever stands before it.
_TELLING = 4
_LOOSE = frozenset(
    {"azure-devops-token", "azure-search-key", "firebase-server-key", "google-refresh-token", "json-web-token"}
)
_DISTINCT = r"""
aws-access-key-id     \b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}     a3t akia asia abia acca
aws-bedrock-key       \b(?:ABSK[A-Za-z0-9+/]{60,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{30,})     absk bedrock-api-key
github-token          \bgh[pousr]_[A-Za-z0-9]{36,}     ghp_ gho_ ghu_ ghs_ ghr_
github-fine-grained   \bgithub_pat_[A-Za-z0-9_]{22,}     github_pat_
gitlab-token          \bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[A-Za-z0-9_.-]{17,}     glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-
gitlab-runner         \bGR1348941[A-Za-z0-9_-]{16,}     gr1348941
slack-token           \bxox[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9%/+=_-]{10,}     xox
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
telegram-token        \b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}     :aa
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
putty-key             (?:PuTTY-User-Key-File-[0-9]:[A-Za-z0-9+/=\s:.,@_()"'#-]*?Private-MAC:\s{0,4}[0-9a-f]+|Private-Lines:\s{0,4}[0-9]+\s+[A-Za-z0-9+/=\s]{40,}|PuTTY-User-Key-File-[0-9]:)     putty-user-key-file private-lines:
mongodb-atlas-secret  \bmdb_sa_sk_[A-Za-z0-9_-]{20,}     mdb_sa_sk_
stackhawk-key         \bhawk\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}     hawk.
grafana-legacy-key    \beyJrIjoi[A-Za-z0-9+/=_-]{40,}     eyjrijoi
newrelic-licence      \b[a-z0-9]{32,36}(?:FFFF)?NRAL\b     nral
square-gateway-token  \bsq0i(?:ge|gw)-[A-Za-z0-9_-]{20,}     sq0ig
aws-mws-key           \bamzn\.mws\.[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}     amzn.mws.
aws-session-token     \b(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz)[A-Za-z0-9+/=]{80,}     iqojb3jpz2lu fwogzxivyxdz fqogzxivyxdz
alibaba-sts           \bSTS\.[A-Za-z0-9]{20,40}\b     sts.
cloudflare-token      \b(?:cf[ua]t_[A-Za-z0-9_-]{30,}|cfk_[A-Za-z0-9_-]{30,})     cfut_ cfat_ cfk_
scaleway-key          \bSCW[A-Z0-9]{17}\b     scw
linode-hetzner-key    \b(?:hcloud|linode)_[A-Za-z0-9]{40,}     hcloud_ linode_
heroku-token          \bHRKU-[A-Za-z0-9_-]{30,}     hrku-
turso-upstash-token   \b(?:turso|upstash)_[A-Za-z0-9_-]{30,}     turso_ upstash_
neon-key              \bnapi_[a-z0-9]{40,}     napi_
elevenlabs-key        \bsk_[a-f0-9]{48}\b     sk_
cerebras-key          \bcsk-[a-z0-9]{40,}     csk-
tavily-key            \btvly-(?:dev-|prod-)?[A-Za-z0-9]{28,}     tvly-
firecrawl-key         \bfc-[a-f0-9]{32}\b     fc-
jina-key              \bjina_[a-f0-9]{32}[A-Za-z0-9_-]{20,}     jina_
voyage-key            \bpa-[A-Za-z0-9_-]{40,}     pa-
weights-biases-key    \bwandb_v1_[A-Za-z0-9_-]{40,}     wandb_v1_
posthog-key           \bph[cxrs]_[A-Za-z0-9]{32,}     phc_ phx_ phr_ phs_
launchdarkly-key      \b(?:sdk|api|mob)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}     sdk- api- mob-
statsig-key           \b(?:secret|console)-[A-Za-z0-9]{40,}     secret- console-
dynatrace-token       \bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}     dt0
honeycomb-key         \bhc[abx](?:ik|lk|mk)_[a-z0-9]{40,}     hcaik_ hcbik_ hcxik_ hcalk_ hcblk_ hcxlk_ hcamk_ hcbmk_ hcxmk_
infisical-token       \bst\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}     st.
bitwarden-token       \b0\.[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/=]{20,}     0.
adyen-key             \bAQE[a-z]hm[A-Za-z0-9+/=_.{}()\[\]@$!?*~^-]{60,}     aqe
paddle-key            \bpdl_(?:live|sdbx)_[a-z]{3,8}_[A-Za-z0-9_-]{20,}     pdl_
paystack-key          \bsk_(?:live|test)_[a-f0-9]{40}     sk_live_ sk_test_
lemonsqueezy-key      \blsq_[A-Za-z0-9]{30,}     lsq_
intercom-token        \bdG9rO[A-Za-z0-9+/=_-]{50,}     dg9ro
mailersend-key        \bmlsn\.[a-f0-9]{60,}     mlsn.
rapidapi-key          \b[a-f0-9]{10}msh[a-f0-9]{15}p1[a-f0-9]{5}jsn[a-f0-9]{12}     msh
frameio-token         \bfio-u-[A-Za-z0-9_=-]{64}     fio-u-
nexus-snyk-semgrep    \b(?:snyk_[a-z]{2,4}_[A-Za-z0-9._-]{30,}|sgp_[a-f0-9]{40}|sgs_[A-Za-z0-9]{30,})     snyk_ sgp_ sgs_
yandex-key            \b(?:AQVN[A-Za-z0-9_-]{35,}|y[0-3]_[A-Za-z0-9_-]{50,})     aqvn y0_ y1_ y2_ y3_
firebase-cm-key       :APA91b[A-Za-z0-9_-]{100,}     :apa91b
dropbox-short-token   \bsl\.[AB][A-Za-z0-9_-]{60,}     sl.
contentful-cma        \bCFPAT-[A-Za-z0-9_-]{30,}     cfpat-
kubeconfig-data       client-key-data:\s{0,4}[A-Za-z0-9+/=]{40,}     client-key-data
docker-auth           "auth"\s{0,4}:\s{0,4}"[A-Za-z0-9+/]{12,}={0,2}"     "auth"
npmrc-auth            (?:^|[^A-Za-z0-9])_auth(?:Token)?\s{0,4}=\s{0,4}["']?[A-Za-z0-9+/=_-]{12,}     _auth
ansible-vault         \$ANSIBLE_VAULT;[0-9.]+;AES256(?:;[\w-]+)?\s+[0-9a-f\s]{40,}     $ansible_vault
presigned-signature   [?&](?:X-Amz-Signature|X-Goog-Signature|Signature)=[A-Za-z0-9%+/=]{30,}     x-amz-signature x-goog-signature &signature= ?signature=
bcrypt-hash           \$2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{53}     $2
crypt-hash            \$(?:1|5|6|7|y|gy|sm3|md5|sha1|apr1)\$(?:rounds=[0-9]+\$)?[^\s:$"']{1,64}\$(?:[^\s:$"']{8,64}\$)?[./A-Za-z0-9]{20,}     $1$ $5$ $6$ $7$ $y$ $gy$ $sm3$ $md5$ $sha1$ $apr1$
argon2-hash           \$argon2(?:id|i|d)\$v=[0-9]+\$[a-z0-9=,]+\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}     $argon2
scrypt-hash           \$(?:scrypt|s0|s1)\$[^\s"']{8,}\$[A-Za-z0-9+/=]{16,}\$?[A-Za-z0-9+/=]*     $scrypt$ $s0$ $s1$
pbkdf2-hash           (?:\$pbkdf2(?:-sha[0-9]+)?\$[0-9]+\$[A-Za-z0-9./]{8,}\$[A-Za-z0-9./]{16,}|pbkdf2_sha[0-9]+\$[0-9]+\$[A-Za-z0-9]{6,}\$[A-Za-z0-9+/=]{20,}|bcrypt_sha256\$\$2b\$[^\s"']{50,})     $pbkdf2 pbkdf2_sha bcrypt_sha256
ldap-hash             \{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT|PBKDF2[A-Z0-9-]*)\}[A-Za-z0-9+/=.$]{20,}     {ssha {sha {smd5 {md5 {crypt {pbkdf2
werkzeug-hash         (?:pbkdf2:sha[0-9]+:[0-9]+|scrypt:[0-9]+:[0-9]+:[0-9]+)\$[^\s$"']{4,}\$[0-9a-f]{32,}     pbkdf2:sha scrypt:
together-key          \btgp_v1_[A-Za-z0-9_-]{40,}     tgp_v1_
e2b-key               \be2b_[a-f0-9]{40}     e2b_
azure-openai-key      \b[A-Za-z0-9]{40,60}JQQJ9[A-Za-z0-9]{20,40}     jqqj9
extended-private-key  \b[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,}     xprv yprv zprv
hubspot-token         \bpat-(?:na|eu|ap|au)[0-9]-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}     pat-na pat-eu pat-ap pat-au
vercel-blob-token     \bvercel_blob_rw_[A-Za-z0-9]{10,}_[A-Za-z0-9]{20,}     vercel_blob_rw_
mailgun-new-key       \b[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}\b     -
vault-batch-token     \b[bsr]\.AAAAAQ[A-Za-z0-9_-]{40,}     .aaaaaq
pgpass-line           (?m)^[\w.*-]{1,80}:(?:[0-9]{4,5}|\*):[\w*-]{1,60}:[\w.@-]{1,60}:[^\s:]{6,}$     :5432: :*: :6432:
phpass-hash           \$[PH]\$[./A-Za-z0-9]{31}     $p$ $h$
scram-verifier        SCRAM-SHA-(?:1|256)\$[0-9]+:[A-Za-z0-9+/=]{8,}\$[A-Za-z0-9+/=]{20,}:[A-Za-z0-9+/=]{20,}     scram-sha-
"""

# Shapes that ordinary text can take by chance: a match also has to look random.
_RANDOM = r"""
mollie-key            \b(?:live|test)_[A-Za-z0-9]{30,}\b     live_ test_
fireworks-key         \bfw_[A-Za-z0-9]{22,}\b     fw_
crates-token          \bcio[A-Za-z0-9]{32}\b     cio
deepseek-key          \bsk-[a-f0-9]{32}\b     sk-
twilio-key            \bSK[a-f0-9]{32}\b     sk
twilio-account-pair   ["']AC[0-9a-f]{32}["'],\s{0,2}["'][0-9a-f]{32}["']     "ac 'ac
discord-bot-token     \b[A-Z][A-Za-z0-9]{22,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}     .
alibaba-key-id        \bLTAI[A-Za-z0-9]{12,26}\b     ltai
facebook-app-token    \b[0-9]{13,17}\|[A-Za-z0-9_-]{27}     |
octopus-key           \bAPI-[A-Z0-9]{25,}\b     api-
brave-search-key      \bBSA[A-Za-z0-9_-]{24,29}\b     bsa
databento-key         \bdb-[A-Za-z0-9]{28,30}\b     db-
klaviyo-key           \bpk_[A-Za-z0-9]{34}\b     pk_
vault-legacy-token    \b[sbr]\.[A-Za-z0-9]{24}\b     s. b. r.
telegram-bot-token    \b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b     :
telegram-bot-address  /bot[0-9]{8,10}:[A-Za-z0-9_-]{30,}     /bot
kubernetes-bootstrap  \b[a-z0-9]{6}\.[a-z0-9]{16}\b     .
mysql-hash            \*[0-9A-F]{40}\b     *
ntlm-hashes           \b[0-9a-fA-F]{32}:[0-9a-fA-F]{32}\b     :
"""


def provider_rules() -> list[ScanRule]:
    """Both tables as rules, in their order."""
    rules = []
    for table, accept in ((_DISTINCT, _real), (_RANDOM, _varied)):
        for row in table.strip().splitlines():
            name, rest = row.split(None, 1)
            pattern, hints = re.split(r" {5}", rest, maxsplit=1)
            found = tuple(hints.split())
            pattern = pattern.strip()
            before = _before(pattern, found) if name not in _OVER_LINES else None
            pattern = _placed(pattern, found, is_loose=name in _LOOSE or accept is _varied)
            rules.append(
                ScanRule(
                    name=name,
                    pattern=pattern,
                    hints=found,
                    group=1,
                    accept=accept,
                    trims=b".,;:!?",
                    is_token=accept is _real,
                    before=before,
                )
            )
    return rules


def _before(pattern: str, hints: tuple[str, ...]) -> int | None:
    """How far before its hint a token may begin, with what may stand before it; None where its hints stand everywhere."""
    if any(len(hint) < _SHORTEST_HINT for hint in hints):
        return None
    # A token that begins with any letters has its hint in the middle or at its end.
    return _FAR if re.match(r"(?:\\b|\(\?m\)\^)?(?:\(\?:)?\[", pattern) else _NEAR


def _placed(pattern: str, hints: tuple[str, ...], *, is_loose: bool) -> str:
    """A pattern with what may stand before it, and the token itself as its group."""
    bare = pattern.replace(r"|\b", "|").removeprefix(r"\b")
    flags = re.match(r"\(\?[im]\)", bare)
    if flags:
        return f"{flags[0]}({bare[flags.end() :]})"
    if not pattern.startswith(r"\b"):
        return f"({bare})"
    if not is_loose and all(len(hint) >= _TELLING and re.search(r"[_.-]", hint) for hint in hints):
        return f"({bare})"
    # What any letters may begin needs a word to begin there, or an escape to end.
    return f"{_WORD_BOUNDARY if is_loose else _BOUNDARY}({bare})"
