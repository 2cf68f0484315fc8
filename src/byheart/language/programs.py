"""What programs are for, as everybody knows: a record that names one is found by its purpose, and a rule that names one is about a call.

The names are public facts; a program that is not among them is found by its name alone."""

from __future__ import annotations

from byheart.text.deferred import deferred

# By purpose: the words that people ask with, and the programs.
_TABLE: tuple[tuple[str, str], ...] = (
    ("package manager dependency dependencies install packages", "npm pnpm yarn bun pip pip3 uv poetry pipenv conda mamba pixi rye hatch pdm cargo gem bundler composer nuget maven gradle brew homebrew apt apt-get dnf yum pacman apk nix winget choco scoop cocoapods carthage swiftpm mix hex rebar3 cabal stack opam luarocks cpan cpanm conan vcpkg spack deno jsr corepack volta vcpkg"),
    ("version manager runtime versions toolchain", "nvm fnm volta asdf mise pyenv rbenv rvm jenv sdkman goenv nodenv tfenv rustup proto uv n"),
    ("test runner testing tests framework unit", "pytest unittest nose nose2 tox nox jest vitest mocha ava jasmine karma tape rspec minitest phpunit pest junit testng spock kotest xunit nunit mstest gotest ginkgo testify nextest catch2 gtest googletest doctest ctest bats shellspec hspec exunit quickcheck hypothesis proptest"),
    ("browser end-to-end e2e testing ui tests automation", "playwright cypress selenium puppeteer webdriverio testcafe nightwatch detox appium maestro capybara"),
    ("linter lint linting static analysis code quality", "eslint tslint biome oxlint ruff flake8 pylint pycodestyle pyflakes bandit golangci-lint staticcheck revive clippy rubocop standardrb reek phpstan psalm phpcs checkstyle spotbugs pmd ktlint detekt swiftlint shellcheck hadolint yamllint markdownlint stylelint htmlhint jshint credo hlint luacheck cppcheck clang-tidy sqlfluff ansible-lint tflint actionlint vale semgrep sonarqube"),
    ("formatter format formatting code style", "prettier black ruff isort yapf autopep8 gofmt goimports gofumpt rustfmt clang-format dprint biome shfmt stylua ktfmt google-java-format swiftformat scalafmt ormolu fourmolu nixfmt alejandra taplo sqlfmt standard rufo php-cs-fixer"),
    ("type checker types typing static type checking", "mypy pyright basedpyright pytype pyre ty tsc typescript flow sorbet rbs dialyzer"),
    ("bundler build tool bundling frontend", "webpack vite rollup esbuild parcel turbopack rspack rolldown snowpack swc tsup tsdown browserify gulp grunt metro"),
    ("build system build tool compile compiling", "make cmake ninja meson bazel buck buck2 pants gradle maven ant sbt mill scons autotools xmake premake msbuild xcodebuild tup please earthly nx turbo turborepo lerna rush moon lage"),
    ("task runner tasks scripts command runner", "just task taskfile make rake invoke mise npm-run-all wireit doit nox gulp mage cargo-make poethepoet"),
    ("compiler language toolchain", "gcc g++ clang rustc go javac kotlinc scalac ghc swiftc tsc zig dmd nim crystal ocaml erlc elixirc dotnet node python ruby php perl deno bun"),
    ("database sql store relational engine olap analytics queries data", "postgres postgresql psql mysql mariadb sqlite sqlite3 oracle mssql sqlserver cockroachdb cockroach duckdb clickhouse snowflake bigquery redshift aurora planetscale neon supabase turso libsql h2 hsqldb derby firebird tidb yugabyte"),
    ("database nosql document key-value cache store", "mongodb mongo redis valkey memcached dynamodb cassandra scylla couchdb couchbase firestore firebase neo4j arangodb etcd rocksdb leveldb lmdb keydb dragonfly hbase"),
    ("orm database access queries", "sqlalchemy prisma drizzle typeorm sequelize knex kysely hibernate jpa activerecord ecto diesel sqlx sea-orm gorm ent sqlc django-orm peewee tortoise mikro-orm objection entity-framework dapper jooq mybatis"),
    ("migration migrations schema database", "alembic flyway liquibase goose dbmate golang-migrate atlas sqitch knex prisma diesel refinery umzug"),
    ("message queue broker events streaming background jobs worker", "kafka rabbitmq nats activemq pulsar sqs pubsub kinesis zeromq redpanda mosquitto celery sidekiq resque bullmq bull rq dramatiq temporal"),
    ("search engine full text index", "elasticsearch opensearch solr meilisearch typesense algolia sphinx tantivy lucene"),
    ("version control source control vcs", "git jj jujutsu hg mercurial svn subversion perforce fossil darcs sapling"),
    ("code hosting git hosting pull request merge request repository remote", "gh glab github gitlab bitbucket gitea forgejo codeberg hub azure-devops gerrit"),
    ("ci continuous integration pipeline", "github-actions gitlab-ci jenkins circleci travis drone woodpecker buildkite teamcity azure-pipelines tekton concourse argo argocd flux spinnaker dagger bamboo appveyor act semaphore cirrus"),
    ("git hooks pre-commit commit hook", "husky lefthook pre-commit lint-staged simple-git-hooks overcommit hk prek commitlint commitizen"),
    ("container containers image runtime engine", "docker podman buildah containerd nerdctl colima orbstack lima rancher kaniko skopeo docker-compose compose"),
    ("orchestration cluster kubernetes deploy", "kubernetes kubectl k8s k3s k9s helm kustomize minikube kind skaffold tilt nomad openshift oc eks gke aks swarm"),
    ("infrastructure iac infrastructure-as-code provisioning configuration", "terraform opentofu tofu pulumi ansible chef puppet saltstack cloudformation cdk sst serverless packer vagrant crossplane bicep terragrunt"),
    ("cloud hosting hosted host platform provider deploy deployment deployed app infrastructure", "aws gcloud gcp azure az vercel netlify heroku fly flyctl render railway cloudflare wrangler digitalocean doctl linode hetzner firebase amplify surge dokku coolify kamal"),
    ("editor ide text editor development environment", "vim nvim neovim emacs vscode code cursor zed sublime atom nano helix kakoune intellij idea pycharm webstorm goland rider clion xcode android-studio eclipse netbeans notepad++ windsurf"),
    ("shell command line interpreter terminal", "bash zsh fish sh dash ksh nushell nu powershell pwsh cmd xonsh elvish oil"),
    ("terminal emulator multiplexer", "tmux screen zellij iterm iterm2 alacritty kitty wezterm ghostty warp hyper konsole gnome-terminal"),
    ("operating system os platform", "linux macos windows ubuntu debian fedora arch alpine nixos centos rhel freebsd wsl android ios"),
    ("web framework backend server api", "django flask fastapi starlette litestar tornado aiohttp sanic express koa fastify hono nestjs hapi adonis rails sinatra hanami laravel symfony spring springboot quarkus micronaut ktor gin echo fiber chi actix axum rocket warp phoenix asp.net aspnet play"),
    ("frontend front-end framework ui library components web app", "react vue svelte angular solid solidjs preact lit qwik ember alpine htmx next nextjs nuxt sveltekit remix astro gatsby tanstack jquery backbone"),
    ("css styling styles framework", "tailwind tailwindcss bootstrap sass scss less postcss styled-components emotion css-modules unocss bulma vanilla-extract linaria stylus windicss panda"),
    ("component library design system ui kit", "shadcn shadcn/ui radix mui material-ui chakra antd ant-design mantine headlessui daisyui primevue vuetify quasar storybook"),
    ("state management store frontend", "redux zustand mobx jotai recoil pinia vuex xstate valtio rtk effector ngrx"),
    ("mobile app framework", "flutter react-native expo swiftui jetpack-compose ionic capacitor cordova xamarin maui kotlin-multiplatform fastlane"),
    ("desktop app framework gui", "electron tauri qt pyqt pyside gtk wxpython tkinter avalonia wpf winforms wails neutralino dioxus egui iced slint"),
    ("http client requests fetch library", "requests httpx aiohttp axios fetch got ky superagent undici reqwest hyper okhttp retrofit curl wget httpie xh urllib3 faraday guzzle"),
    ("validation schema library", "zod yup joi valibot ajv pydantic marshmallow attrs cattrs msgspec io-ts typebox superstruct cerberus validator"),
    ("mock mocking test doubles", "mockito mockk sinon msw nock wiremock testdouble unittest.mock moq nsubstitute gomock mockery vcrpy responses respx factory-boy faker"),
    ("logging logs logger", "winston pino bunyan log4j logback slf4j loguru structlog zap logrus zerolog slog tracing serilog nlog"),
    ("monitoring observability metrics tracing error tracking errors alerts dashboards", "prometheus grafana datadog newrelic sentry rollbar bugsnag honeybadger opentelemetry otel jaeger zipkin loki tempo honeycomb splunk kibana logstash fluentd vector nagios zabbix pagerduty statsd"),
    ("documentation docs generator site written", "sphinx mkdocs docusaurus vitepress vuepress hugo jekyll typedoc jsdoc doxygen rustdoc godoc javadoc swagger redoc mdbook pdoc gitbook starlight nextra"),
    ("api protocol rpc interface", "rest graphql grpc trpc openapi protobuf thrift soap jsonrpc avro asyncapi connect"),
    ("authentication auth login identity provider sign-in users", "oauth oidc saml jwt auth0 okta keycloak clerk nextauth auth.js lucia passport cognito supabase-auth devise firebase-auth ory better-auth"),
    ("secret secrets manager credentials password passwords vault", "vault 1password op bitwarden doppler sops age infisical keychain dotenv direnv keyring pass gopass chamber akeyless"),
    ("issue tracker issues tickets bugs project management board", "jira linear asana trello github-issues youtrack shortcut clickup notion monday redmine bugzilla basecamp height bd beads"),
    ("chat communication team messages notifications", "slack discord teams mattermost zulip telegram matrix rocketchat irc"),
    ("design tool mockups", "figma sketch penpot adobe-xd invision framer canva"),
    ("notebook data science interactive", "jupyter jupyterlab ipython colab marimo zeppelin observable rstudio quarto"),
    ("dataframe data analysis library", "pandas polars numpy dask spark pyspark modin vaex arrow pyarrow duckdb dplyr data.table"),
    ("machine learning deep learning ml framework", "pytorch torch tensorflow keras jax scikit-learn sklearn xgboost lightgbm transformers huggingface onnx mlflow wandb ray lightning fastai llama.cpp vllm ollama"),
    ("llm model ai assistant coding agent", "claude claude-code codex gpt chatgpt gemini copilot cursor aider cline windsurf ollama openai anthropic mistral llama deepseek qwen opencode"),
    ("plot chart charts visualization", "matplotlib seaborn plotly d3 echarts chartjs recharts vega altair bokeh ggplot2 highcharts visx nivo"),
    ("workflow scheduler orchestration jobs etl", "airflow prefect dagster luigi argo-workflows cron crontab systemd dbt temporal kestra mage"),
    ("web server reverse proxy load balancer http", "nginx apache caddy traefik haproxy envoy httpd iis lighttpd gunicorn uvicorn hypercorn puma unicorn pm2 tomcat jetty"),
    ("game engine", "unity unreal godot bevy phaser pygame love2d monogame defold gamemaker"),
    ("search find files text tool", "grep ripgrep rg ag ack fd find fzf locate"),
    ("json yaml processing command line", "jq yq dasel gron fx miller mlr xsv csvkit qsv"),
    ("debugger debugging profiler profiling", "gdb lldb pdb ipdb delve dlv strace ltrace perf valgrind py-spy flamegraph hotspot rr pprof instruments xdebug"),
    ("coverage code coverage report", "coverage coverage.py nyc istanbul c8 codecov coveralls tarpaulin llvm-cov jacoco simplecov kcov"),
    ("release versioning changelog publish", "semantic-release changesets release-please goreleaser cargo-release standard-version git-cliff towncrier bumpversion bump-my-version commitizen lerna np release-it"),
    ("dependency updates bot security scan", "renovate dependabot snyk trivy grype pip-audit npm-audit cargo-audit cargo-deny osv-scanner safety bandit"),
    ("serialization file format config", "json yaml toml xml ini csv parquet avro protobuf msgpack cbor ndjson jsonl hcl dhall cue jsonnet"),
    ("indentation indent whitespace style", "tabs spaces"),
    ("quote quotes style strings string delimiter", "single-quotes double-quotes single quotes double backticks"),
    ("branching branch strategy merge merging method history up to date", "rebase squash merge-commit fast-forward trunk-based gitflow"),
    ("programming language", "python javascript typescript rust golang java kotlin scala ruby php perl swift objective-c c++ c# csharp f# haskell elixir erlang clojure lua dart julia r zig nim ocaml elm solidity cobol fortran"),
)  # fmt: skip


def _by_name() -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for purpose, names in _TABLE:
        for name in names.split():
            found.setdefault(name, []).append(purpose)
    return {name: " ".join(dict.fromkeys(" ".join(purposes).split())) for name, purposes in found.items()}


PURPOSES = _by_name()
# Names that are everyday words too: in a sentence they may mean something else.
_WORDS = frozenset(
    "go make just task code act op fly render compose standard moon rush mix hex stack warp screen fetch got pass age tempo vector connect play gin echo fiber chi rocket spring express next lit solid remix astro ember flow ty n r c tabs spaces merge find love less sketch framer matrix teams notion linear height monday shortcut drone flux argo concourse semaphore cursor helix atom code please mage doit dash oil sh cmd ky hub chef puppet salt vagrant ant buck pants mill task nox tape ava bats spock stack pest unity ray safety coverage bumpversion swarm kind single double pulse claude gemini codex copilot rest phoenix iced hyper okay surge railway slack discord instruments responses attrs cue jsonnet r lage proto black"
    .split()
)  # fmt: skip
# What is called by these names on a command line, also where the name is a word.
CALLED = frozenset(PURPOSES) - _WORDS | frozenset("go make just task npm git cargo black mix stack helm".split())


# How names of programs go on where somebody spells them out.
_ENDING = deferred(r"(?:\.(?:js|io|dev|ai|com|sh|rs|app)|-?js|file)$")
_NAMES = deferred(r"`([^`\n]{1,60})`|([A-Za-z][\w.+#/-]*)")


def purposes_of(text: str) -> str:
    """What the programs that a text names are for, in the words that people ask with; empty where none is known. A name that is an
    everyday word counts where it stands in code."""
    told: dict[str, None] = {}
    found = list(_NAMES.finditer(text))
    for place, match in enumerate(found):
        code, word = match[1], (match[2] or "").rstrip(".,;:!?")
        behind = found[place + 1][2] or "" if place + 1 < len(found) else ""
        # A name of two words is one name; one that is spelled large in the middle of a sentence is no everyday word.
        is_name = bool(code) or (place > 0 and word[:1].isupper())
        names = (
            code.casefold().split()[:2] if code else [f"{word}-{behind.rstrip('.,;:!?')}".casefold(), word.casefold()]
        )
        for each in names:
            known = each if each in PURPOSES else _ENDING.sub("", each)
            if known in PURPOSES and (is_name or known not in _WORDS or each != known):
                told.update(dict.fromkeys(PURPOSES[known].split()))
                break
    return " ".join(told)


VOCABULARY = frozenset(word for purpose, _ in _TABLE for word in purpose.split())
