//! The table: options of the command line programs of llama.cpp and of `ollama run`, with their translations.

use super::Meaning::{Instead, Is, Like, NotNeeded, NotYet, Variables};
use super::Row;
use super::Value::{self, One, Pair, Switch, Word};

const ON_OFF: Value = Word(&["on", "off", "auto", "true", "false", "1", "0"]);

const ENGINE: &str = "one engine computes the whole model; --engine and --device choose it";
const SCHEDULED: &str = "the operating system places the threads";
const STEPS: &str = "the engine chooses the size of its steps";
const LOADED: &str = "weights are read into memory; --mmap uses them in the file";
const TIMINGS: &str = "a last line shows tokens and speed; --verbose shows more";
const NO_LOG: &str = "notes go to standard error";
const TEXT: &str = "an answer is printed as the model writes it";
const METADATA: &str = "show lists all metadata of the file";
const DOWNLOADS: &str = "inkstone downloads nothing; inkstone list shows the model files that are here";
const THINKING: &str = "the chat template decides: --template-var enable_thinking=false, if it has this variable";

const GRAMMARS: &str = "grammars";
const DRAFT: &str = "a draft model";
const MEDIA: &str = "images, sound and video";
const POSITIONS: &str = "rotary positions that differ from the file";
const TOOLS: &str = "tools that the program calls";
const EMBEDDINGS: &str = "embeddings";

/// An alias of an option. An option that the command itself has is not looked up.
const fn is(names: &'static str, value: Value, ours: &'static str) -> Row {
    Row { names, value, meaning: Is(ours), off: None, commands: &[] }
}

/// An alias of an option, except for a difference.
const fn like(names: &'static str, value: Value, ours: &'static str, difference: &'static str) -> Row {
    Row { names, value, meaning: Like(ours, difference), off: None, commands: &[] }
}

/// An option that is not needed.
const fn no(names: &'static str, value: Value, why: &'static str) -> Row {
    Row { names, value, meaning: NotNeeded(why), off: None, commands: &[] }
}

/// An option for a missing feature.
const fn yet(names: &'static str, value: Value, what: &'static str) -> Row {
    Row { names, value, meaning: NotYet(what), off: None, commands: &[] }
}

/// An option for a missing feature, which `value` switches off.
const fn off(value: &'static str, row: Row) -> Row {
    Row { off: Some(value), ..row }
}

/// An option with an alternative.
const fn instead(names: &'static str, value: Value, how: &'static str) -> Row {
    Row { names, value, meaning: Instead(how), off: None, commands: &[] }
}

/// A row that applies only to some commands.
const fn of(commands: &'static [&'static str], row: Row) -> Row {
    Row { commands, ..row }
}

/// The rows. If several rows have a name, the first one that applies to the command counts.
pub(super) const TABLE: &[Row] = &[
    // ollama show
    of(&["show"], no("--license --parameters --template --system", Switch, METADATA)),
    instead("--modelfile", Switch, "GGUF files have no Modelfile; inkstone show lists their metadata"),
    // llama.cpp: common options
    is("--usage", Switch, "--help"),
    instead("--version", Switch, "inkstone --version prints it"),
    instead("--license", Switch, "the licences are in the source: LICENSE-MIT, LICENSE-APACHE"),
    instead("-cl --cache-list", Switch, "inkstone list shows the model files that are here"),
    instead("--completion-bash", Switch, "inkstone completions bash prints it"),
    no("--verbose-prompt", Switch, "inkstone tokenize shows the tokens of a text"),
    is("-t --threads", One, "--threads"),
    no("-tb --threads-batch", One, "--threads also applies to prompts"),
    no("-C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll", One, SCHEDULED),
    no("-Cb --cpu-mask-batch -Crb --cpu-range-batch --cpu-strict-batch --prio-batch --poll-batch", One, SCHEDULED),
    is("-c --ctx-size", One, "--ctx"),
    is("-n --predict --n-predict", One, "--max-tokens"),
    no("-b --batch-size -ub --ubatch-size", One, STEPS),
    no(
        "--keep",
        One,
        "a text ends when the context is full; a conversation drops its oldest turns; --kv-window keeps first tokens",
    ),
    no("--swa-full", Switch, "texts go on from checkpoints (--ctx-checkpoints)"),
    no("-fa --flash-attn", ON_OFF, "the engine has one attention kernel for all sizes"),
    is("-p --prompt", One, "--prompt"),
    no("--perf --no-perf --show-timings --no-show-timings", Switch, TIMINGS),
    is("-f --file -bf --binary-file", One, "--file"),
    instead("-e --escape", Switch, "the shell can write such characters: $'first line\\nsecond line'"),
    no("--no-escape", Switch, "a prompt is used unchanged"),
    // 0 and, for the factor, -1 stand for the values in the file.
    off("0", yet("--rope-freq-base --rope-freq-scale --yarn-orig-ctx", One, POSITIONS)),
    off("-1", yet("--yarn-ext-factor", One, POSITIONS)),
    yet("--rope-scaling --rope-scale --yarn-attn-factor --yarn-beta-slow --yarn-beta-fast", One, POSITIONS),
    no("-kvo --kv-offload -nkvo --no-kv-offload --op-offload --no-op-offload", Switch, ENGINE),
    no("--repack -nr --no-repack", Switch, LOADED),
    no("--no-host", Switch, ENGINE),
    is("-ctk --cache-type-k -ctv --cache-type-v", One, "--kv-type"),
    no("-dt --defrag-thold", One, "the pages of the cache need no order"),
    of(&["batch"], is("-np --parallel", One, "--sequences")),
    no("-np --parallel", One, "the command generates one text at a time; inkstone batch generates several"),
    is("--no-cache-prompt", Switch, "--no-prefix"),
    no("--cache-prompt", Switch, "it is the default; --no-prefix switches it off"),
    yet("--rpc", One, "engines on other machines"),
    no("--mlock", Switch, LOADED),
    is("--mmap", Switch, "--mmap"),
    no("--no-mmap", Switch, LOADED),
    no("-dio --direct-io -ndio --no-direct-io", Switch, LOADED),
    no("-lm --load-mode", One, LOADED),
    no("--numa", One, SCHEDULED),
    is("-dev --device", One, "--device"),
    no("-ot --override-tensor -ncmoe --n-cpu-moe", One, ENGINE),
    no("-cmoe --cpu-moe", Switch, ENGINE),
    instead("--list-devices", Switch, "inkstone doctor lists them"),
    no("-ngl --gpu-layers --n-gpu-layers -sm --split-mode -ts --tensor-split -mg --main-gpu", One, ENGINE),
    no("-fit --fit", ON_OFF, "the context is made to fit the free memory"),
    no("-fitt --fit-target -fitc --fit-ctx", One, "the context is made to fit the free memory; --budget bounds it"),
    instead("--check-tensors", Switch, "inkstone show MODEL --check checks them"),
    yet("--override-kv", One, "overriding the metadata of the file"),
    yet("--lora --lora-scaled", One, "LoRA adapters"),
    yet("--control-vector --control-vector-scaled", One, "control vectors"),
    yet("--control-vector-layer-range", Pair, "control vectors"),
    is("-m --model", One, "--model"),
    instead("-mu --model-url -dr --docker-repo -hf -hfr --hf-repo", One, DOWNLOADS),
    instead("-hff --hf-file -hft --hf-token", One, DOWNLOADS),
    instead("-hfv -hfrv --hf-repo-v -hffv --hf-file-v", One, DOWNLOADS),
    instead("--gpt-oss-20b-default --gpt-oss-120b-default", Switch, DOWNLOADS),
    instead("--vision-gemma-4b-default --vision-gemma-12b-default", Switch, DOWNLOADS),
    no("--offline", Switch, "inkstone never uses the network"),
    no("--log-disable", Switch, "2> /dev/null hides the notes"),
    instead("--log-file", One, "2> FILE writes the notes to a file"),
    yet("--log-prompts-dir", One, "logs of prompts"),
    no("--log-colors", ON_OFF, NO_LOG),
    no("--log-prefix --no-log-prefix --log-timestamps --no-log-timestamps", Switch, NO_LOG),
    is("-v --verbose --log-verbose", Switch, "--verbose"),
    no("-lv --verbosity --log-verbosity", One, "--verbose shows more"),
    // llama.cpp: sampling
    yet("--samplers --sampler-seq --sampling-seq", One, "samplers in another order"),
    is("-s --seed", One, "--seed"),
    is("--ignore-eos", Switch, "--ignore-eos"),
    is("--temp --temperature", One, "--temperature"),
    is("--top-k", One, "--top-k"),
    is("--top-p", One, "--top-p"),
    is("--min-p", One, "--min-p"),
    off("-1", yet("--top-nsigma --top-n-sigma", One, "top-n-sigma sampling")),
    off("0", yet("--xtc-probability", One, "XTC sampling")),
    no("--xtc-threshold", One, "it has no effect without --xtc-probability"),
    is("--typical --typical-p", One, "--typical-p"),
    is("--repeat-last-n", One, "--repeat-last-n"),
    is("--repeat-penalty", One, "--repeat-penalty"),
    is("--presence-penalty", One, "--presence-penalty"),
    is("--frequency-penalty", One, "--frequency-penalty"),
    off("0", yet("--dry-multiplier", One, "DRY sampling")),
    no(
        "--dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker",
        One,
        "it has no effect without --dry-multiplier",
    ),
    off("-1", yet("--adaptive-target", One, "adaptive-p sampling")),
    no("--adaptive-decay", One, "it has no effect without --adaptive-target"),
    off("0", yet("--dynatemp-range", One, "dynamic temperatures")),
    no("--dynatemp-exp", One, "it has no effect without --dynatemp-range"),
    off("0", yet("--mirostat", One, "Mirostat sampling")),
    no("--mirostat-lr --mirostat-ent", One, "it has no effect without --mirostat"),
    is("-l --logit-bias", One, "--logit-bias"),
    off("", yet("--grammar", One, GRAMMARS)),
    yet("--grammar-file -j --json-schema -jf --json-schema-file", One, GRAMMARS),
    no("-bs --backend-sampling", Switch, "tokens are drawn by the engine"),
    // llama.cpp: conversations
    yet("--server-base", One, "a client of other servers"),
    no("--display-prompt --no-display-prompt", Switch, "only a terminal shows the prompt before the text"),
    no("-co --color", ON_OFF, "a terminal shows styles, unless NO_COLOR is set"),
    is("-ctxcp --swa-checkpoints", One, "--ctx-checkpoints"),
    no("-cram --cache-ram", One, "one conversation has one cache"),
    instead("--context-shift", Switch, "--kv-window N:FIRST lets layers see only the last and the first tokens"),
    no("--no-context-shift", Switch, "a text ends when the context is full"),
    is("-sys --system-prompt", One, "--system"),
    instead("-sysf --system-prompt-file", One, "--system \"$(cat FILE)\" reads it"),
    no("-ptc --print-token-count", One, TIMINGS),
    like("--prompt-cache", One, "--session", "FILE keeps the whole text, and a prompt is added to it"),
    no("--prompt-cache-all", Switch, "a session has the prompts and the texts"),
    instead("--prompt-cache-ro", Switch, "a session is saved at the end; --session with a copy of FILE keeps FILE"),
    is("-r --reverse-prompt", One, "--stop"),
    yet("-sp --special", Switch, "the texts of control tokens in an answer"),
    of(&["run", "chat"], no("-cnv --conversation", Switch, "a model with a chat template answers with it")),
    instead("-cnv --conversation", Switch, "inkstone chat starts a conversation"),
    of(&["complete"], no("-no-cnv --no-conversation", Switch, "complete always continues raw text")),
    of(&["run"], is("-no-cnv --no-conversation", Switch, "--raw")),
    instead("-no-cnv --no-conversation", Switch, "inkstone complete continues raw text"),
    no("-st --single-turn", Switch, "a message on the command line gets one answer"),
    of(
        &["chat"],
        no("-i --interactive -if --interactive-first", Switch, "chat without a message starts a conversation"),
    ),
    instead("-i --interactive -if --interactive-first", Switch, "inkstone chat starts a conversation"),
    no("-mli --multiline-input", Switch, "lines between \"\"\" and \"\"\" are one message"),
    yet("--in-prefix-bos", Switch, "texts around each message"),
    yet("--in-prefix --in-suffix", One, "texts around each message"),
    no("--warmup --no-warmup", Switch, "there is no warm-up run"),
    off("1", yet("-gan --grp-attn-n", One, "grouped attention")),
    no("-gaw --grp-attn-w", One, "it has no effect without --grp-attn-n"),
    yet("-mm --mmproj -mmu --mmproj-url -mmdev --mmproj-device --image --audio --video", One, MEDIA),
    yet("--image-min-tokens --image-max-tokens", One, MEDIA),
    yet("--mmproj-auto", Switch, MEDIA),
    no("--no-mmproj --no-mmproj-auto --mmproj-offload --no-mmproj-offload", Switch, "models read text only"),
    instead("-o --output --output-file", One, "the text is written to standard output: > FILE"),
    Row { names: "--chat-template-kwargs", value: One, meaning: Variables, off: None, commands: &[] },
    no("--jinja --no-jinja", Switch, "every chat template is run as Jinja"),
    no("--reasoning-format", One, TEXT),
    instead("-rea --reasoning --think", ON_OFF, THINKING),
    instead("--reasoning-effort --reasoning-budget --reasoning-budget-message", One, THINKING),
    instead("--reasoning-preserve --no-reasoning-preserve", Switch, THINKING),
    instead("--chat-template", One, "--template FILE reads a template from a file"),
    is("--chat-template-file", One, "--template"),
    no("--skip-chat-parsing --no-skip-chat-parsing", Switch, TEXT),
    no("--simple-io", Switch, "the line editor is used only on a terminal"),
    // llama.cpp: speculative decoding
    yet("--spec-draft-hf -hfd -hfrd --hf-repo-draft --spec-draft-model -md --model-draft", One, DRAFT),
    yet("--spec-draft-type-k -ctkd --cache-type-k-draft --spec-draft-type-v -ctvd --cache-type-v-draft", One, DRAFT),
    yet("--spec-draft-threads -td --threads-draft", One, DRAFT),
    yet("--spec-draft-threads-batch -tbd --threads-batch-draft", One, DRAFT),
    yet("--spec-draft-cpu-mask -Cd --cpu-mask-draft --spec-draft-cpu-range -Crd --cpu-range-draft", One, DRAFT),
    yet("--spec-draft-cpu-strict --cpu-strict-draft --spec-draft-prio --prio-draft", One, DRAFT),
    yet("--spec-draft-poll --poll-draft --spec-draft-poll-batch --poll-batch-draft", One, DRAFT),
    yet("--spec-draft-cpu-mask-batch -Cbd --cpu-mask-batch-draft", One, DRAFT),
    yet("--spec-draft-cpu-strict-batch --cpu-strict-batch-draft", One, DRAFT),
    yet("--spec-draft-prio-batch --prio-batch-draft", One, DRAFT),
    yet("--spec-draft-override-tensor -otd --override-tensor-draft", One, DRAFT),
    yet("--spec-draft-cpu-moe -cmoed --cpu-moe-draft", Switch, DRAFT),
    yet("--spec-draft-n-cpu-moe --spec-draft-ncmoe -ncmoed --n-cpu-moe-draft", One, DRAFT),
    yet("--spec-draft-n-max --spec-draft-n-min --spec-draft-p-split --draft-p-split", One, DRAFT),
    yet("--spec-draft-p-min --draft-p-min", One, DRAFT),
    yet("--spec-draft-backend-sampling --no-spec-draft-backend-sampling", Switch, DRAFT),
    yet("--spec-draft-device -devd --device-draft", One, DRAFT),
    yet("--spec-draft-ngl -ngld --gpu-layers-draft --n-gpu-layers-draft", One, DRAFT),
    yet("--draft --draft-n --draft-max --draft-min --draft-n-min", One, DRAFT),
    yet("--spec-default", Switch, "speculative decoding"),
    off("none", yet("--spec-type", One, "speculative decoding")),
    yet("--spec-ngram-mod-n-min --spec-ngram-mod-n-max --spec-ngram-mod-n-match", One, "speculative decoding"),
    yet("--spec-ngram-simple-size-n --spec-ngram-simple-size-m", One, "speculative decoding"),
    yet("--spec-ngram-simple-min-hits", One, "speculative decoding"),
    yet("--spec-ngram-map-k-size-n --spec-ngram-map-k-size-m", One, "speculative decoding"),
    yet("--spec-ngram-map-k-min-hits", One, "speculative decoding"),
    yet("--spec-ngram-map-k4v-size-n --spec-ngram-map-k4v-size-m", One, "speculative decoding"),
    yet("--spec-ngram-map-k4v-min-hits", One, "speculative decoding"),
    // ollama run
    no("--nowordwrap", Switch, "lines are not wrapped"),
    no("--keepalive", One, "a model is loaded for one command"),
    no("--insecure", Switch, "inkstone never uses the network"),
    yet("--format", One, GRAMMARS),
    no("--hidethinking", Switch, TEXT),
    yet("--truncate", Switch, EMBEDDINGS),
    yet("--dimensions", One, EMBEDDINGS),
    yet("--experimental --experimental-yolo --experimental-websearch --yolo -y", Switch, TOOLS),
];

/// Commands of Ollama that the program does not have, with the explanations in errors.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("pull", DOWNLOADS),
    ("push", "inkstone never uses the network"),
    ("create", "a model is a GGUF file; --system and sampling options set what a Modelfile would"),
    ("cp", "a model is a GGUF file, which can be copied"),
    ("rm", "a model is a GGUF file, which can be removed"),
    ("ps", "no server runs; a model is loaded for one command"),
    ("stop", "no server runs; a model is loaded for one command"),
    ("serve", "there is no server yet"),
    ("start", "there is no server yet"),
    ("signin", "inkstone never uses the network"),
    ("signout", "inkstone never uses the network"),
    ("launch", "there is no server yet"),
];
