import { nearestWord } from '../../lib/did-you-mean.ts'
import { tryParseJson } from '../../lib/json-text.ts'

/**
 * What may follow an option: `switch` nothing (and it has a `--no-` form), `perhaps` a value or nothing, `size` an
 * integer that may end in k, m, g or t, `texts` one value or more; a list names the values there are.
 */
type OptionValue = 'switch' | 'perhaps' | 'int' | 'size' | 'float' | 'text' | 'texts' | 'json' | readonly string[]

const DTYPES = ['auto', 'half', 'float16', 'bfloat16', 'float', 'float32'] as const

/**
 * The options of `vllm serve`, without the dashes: those of its engine (vllm/engine/arg_utils.py) and of its server
 * (vllm/entrypoints/openai/cli_args.py). It includes names that releases after 0.7 removed,
 * because the release of a service is unknown. Where a list of values differs between releases, any text will do.
 */
const OPTIONS: ReadonlyMap<string, OptionValue> = createOptionTable([
  [
    'switch',
    `trust-remote-code enforce-eager disable-sliding-window disable-cascade-attn skip-tokenizer-init
    enable-prompt-embeds enable-sleep-mode use-tqdm-on-load guided-decoding-disable-fallback
    guided-decoding-disable-any-whitespace guided-decoding-disable-additional-properties data-parallel-hybrid-lb
    data-parallel-external-lb enable-expert-parallel enable-dbo disable-nccl-for-dp-synchronization enable-eplb
    eplb-log-balancedness ray-workers-use-nsight disable-custom-all-reduce enable-multimodal-encoder-data-parallel
    enable-prefix-caching calculate-kv-scales kv-sharing-fast-prefill enable-mm-embeds disable-mm-preprocessor-cache
    interleave-mm-strings skip-mm-profiling enable-lora enable-lora-bias fully-sharded-loras enable-prompt-adapter
    use-v2-block-manager disable-chunked-mm-input disable-hybrid-kv-cache-manager async-scheduling disable-log-stats
    aggregate-engine-logging disable-log-requests enable-log-requests enable-reasoning disable-async-output-proc
    speculative-disable-mqa-scorer engine-use-ray worker-use-ray headless enable-auto-tool-choice
    trust-request-chat-template return-tokens-as-token-ids exclude-tools-when-tool-choice-none
    enable-prompt-tokens-details enable-per-request-metrics enable-server-load-tracking enable-force-include-usage
    enable-tokenizer-info-endpoint enable-log-outputs enable-log-deltas log-error-stack tokens-only
    disable-uvicorn-access-log allow-credentials enable-ssl-refresh enable-request-id-headers disable-fastapi-docs
    enable-offline-docs disable-frontend-multiprocessing`,
  ],
  [
    'perhaps',
    `hf-token enable-chunked-prefill multi-step-stream-outputs disable-logprobs-during-spec-decoding
    kv-cache-metrics`,
  ],
  [
    'int',
    `seed max-logprobs pipeline-parallel-size tensor-parallel-size decode-context-parallel-size data-parallel-size
    data-parallel-rank data-parallel-start-rank data-parallel-size-local data-parallel-rpc-port
    dbo-decode-token-threshold dbo-prefill-token-threshold num-redundant-experts eplb-window-size eplb-step-interval
    max-parallel-loading-workers block-size num-gpu-blocks-override mamba-block-size mm-shm-cache-max-object-size-mb
    max-loras max-lora-rank lora-extra-vocab-size max-cpu-loras max-prompt-adapters max-prompt-adapter-token
    max-num-seqs max-num-partial-prefills max-long-partial-prefills long-prefill-token-threshold num-lookahead-slots
    num-scheduler-steps max-seq-len-to-capture max-cudagraph-capture-size tokenizer-pool-size num-speculative-tokens
    speculative-draft-tensor-parallel-size speculative-max-model-len speculative-disable-by-batch-size
    ngram-prompt-lookup-max ngram-prompt-lookup-min port api-server-count max-log-len ssl-cert-reqs
    h11-max-incomplete-event-size h11-max-header-count`,
  ],
  ['size', 'max-model-len max-num-batched-tokens kv-cache-memory-bytes'],
  [
    'float',
    `rope-theta swap-space cpu-offload-gb gpu-memory-utilization mm-processor-cache-gb video-pruning-rate
    scheduler-delay-factor typical-acceptance-sampler-posterior-threshold typical-acceptance-sampler-posterior-alpha`,
  ],
  [
    'text',
    `model tokenizer hf-config-path allowed-local-media-path revision code-revision tokenizer-revision config-format
    logits-processor-pattern generation-config override-attention-dtype io-processor-plugin load-format download-dir
    safetensors-load-strategy pt-load-map-location reasoning-parser reasoning-parser-plugin guided-decoding-backend
    data-parallel-address data-parallel-backend all2all-backend expert-placement-strategy worker-cls
    worker-extension-cls prefix-caching-hash-algo mamba-cache-dtype mamba-ssm-cache-dtype mm-processor-cache-type
    mm-encoder-tp-mode mm-encoder-attn-backend lora-dtype long-lora-scaling-factors show-hidden-metrics-for-version
    otlp-traces-endpoint collect-detailed-traces scheduler-cls quantization kv-cache-dtype logprobs-mode device
    preemption-mode qlora-adapter-name-or-path speculative-model speculative-model-quantization
    spec-decoding-acceptance-method tokenizer-pool-type tokenizer-pool-extra-config quantization-param-path
    distributed-executor-backend attention-backend chat-template chat-template-content-format response-role
    tool-call-parser tool-parser-plugin tool-server log-config-file fingerprint-mode fingerprint-value host uds
    uvicorn-log-level disable-access-log-for-endpoints ssl-keyfile ssl-certfile ssl-ca-certs ssl-ciphers root-path
    middleware config`,
  ],
  [
    'texts',
    `served-model-name logits-processors ignore-patterns cudagraph-capture-sizes cuda-graph-sizes
    allowed-media-domains lora-modules prompt-adapters api-key limit-mm-per-prompt`,
  ],
  [
    'json',
    `rope-scaling hf-overrides pooler-config override-pooler-config override-generation-config
    model-loader-extra-config eplb-config media-io-kwargs mm-processor-kwargs default-mm-loras speculative-config
    kv-transfer-config kv-events-config compilation-config additional-config structured-outputs-config
    override-neuron-config default-chat-template-kwargs allowed-origins allowed-methods allowed-headers`,
  ],
  [DTYPES, 'dtype'],
  [['auto', 'generate', 'pooling', 'draft'], 'runner'],
  [['auto', 'none', 'embed', 'classify', 'reward'], 'convert'],
  [['auto', 'generate', 'embedding', 'embed', 'classify', 'score', 'reward', 'transcription', 'draft'], 'task'],
  [['fcfs', 'priority'], 'scheduling-policy'],
  [['auto', 'vllm', 'transformers', 'terratorch'], 'model-impl'],
  [['auto', 'hf', 'slow', 'mistral', 'custom', 'deepseek_v32'], 'tokenizer-mode'],
])

const SHORT_OPTIONS: Readonly<Record<string, string>> = {
  '-q': 'quantization',
  '-O': 'compilation-config',
  '-pp': 'pipeline-parallel-size',
  '-tp': 'tensor-parallel-size',
  '-dcp': 'decode-context-parallel-size',
  '-dp': 'data-parallel-size',
  '-dpn': 'data-parallel-rank',
  '-dpr': 'data-parallel-start-rank',
  '-dpl': 'data-parallel-size-local',
  '-dpa': 'data-parallel-address',
  '-dpp': 'data-parallel-rpc-port',
  '-dpb': 'data-parallel-backend',
  '-asc': 'api-server-count',
}

/**
 * Why an engine would not start with these arguments, in the words of its command line; undefined when it would. Each
 * element is one argument, as a container gets them: `['--max-model-len', '4096']` or `['--max-model-len=4096']`.
 *
 * @example engineArgsProblem(['--max-modle-len', '8192'])
 * // 'unrecognized arguments: --max-modle-len 8192 (did you mean --max-model-len?)'
 */
export function engineArgsProblem(args: readonly string[]): string | undefined {
  const unknown: string[] = []
  let hint = ''
  for (let at = 0; at < args.length; ) {
    const { name, inline } = splitArgument(args[at]!)
    const option = name === undefined ? undefined : findOption(name, inline)
    const values = option === undefined || inline !== undefined ? [] : valuesAfter(args, at + 1, option.value)
    if (option === undefined) {
      unknown.push(args[at]!)
      if (name !== undefined && hint === '') hint = suggestOption(name)
      at++
      continue
    }
    const problem = valueProblem(option.value, inline === undefined ? values : [inline], inline !== undefined)
    // What cannot be read stops the engine at once; what it does not know it collects first.
    if (problem !== undefined) return `argument ${name}: ${problem}`
    at += 1 + values.length
  }
  return unknown.length === 0 ? undefined : `unrecognized arguments: ${unknown.join(' ')}${hint}`
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  ...{ k: 1e3, m: 1e6, g: 1e9, t: 1e12, K: 1_024, M: 1_048_576, G: 1_073_741_824, T: 1_099_511_627_776 },
}

/** Returns the value of an option whose value is a size; undefined if the arguments do not have it. */
export function sizeArgument(args: readonly string[], option: string): number | undefined {
  let size: number | undefined
  for (const [i, arg] of args.entries()) {
    const { name, inline } = splitArgument(arg)
    if (name?.replace(/^--/, '').replaceAll('_', '-') !== option) continue
    const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)([kKmMgGtT]?)$/.exec(inline ?? args[i + 1] ?? '') ?? []
    if (Number(digits) >= 1) size = Number(digits) * (SIZE_UNITS[unit] ?? 1)
  }
  return size
}

/** Whether the arguments set a switch and do not unset it after that. */
export function hasSwitch(args: readonly string[], option: string): boolean {
  const names = args.map(arg => splitArgument(arg).name?.slice(2).replaceAll('_', '-'))
  return names.lastIndexOf(option) > names.lastIndexOf(`no-${option}`)
}

function createOptionTable(rows: readonly (readonly [OptionValue, string])[]): ReadonlyMap<string, OptionValue> {
  return new Map(rows.flatMap(([value, names]) => names.split(/\s+/).map(name => [name, value] as const)))
}

/** Returns the name of an argument and the value after its `=`. The name is missing if it is not an option. */
function splitArgument(arg: string): { name: string | undefined; inline: string | undefined } {
  if (!/^-[-A-Za-z]/.test(arg)) return { name: undefined, inline: undefined }
  const equals = arg.indexOf('=')
  const name = equals < 0 ? arg : arg.slice(0, equals)
  if (/\s/.test(name)) return { name: undefined, inline: undefined }
  return { name, inline: equals < 0 ? undefined : arg.slice(equals + 1) }
}

function findOption(name: string, inline: string | undefined): { readonly value: OptionValue } | undefined {
  if (!name.startsWith('--')) {
    // -O3 is short for -O 3.
    const level = /^-O\d$/.test(name) ? 'switch' : undefined
    const value = level ?? OPTIONS.get(SHORT_OPTIONS[name] ?? '')
    return value === undefined ? undefined : { value }
  }
  // The engine takes underscores for dashes.
  const word = name.slice(2).replaceAll('_', '-')
  const value = OPTIONS.get(word)
  if (value !== undefined) return { value }
  if (word.startsWith('no-') && OPTIONS.get(word.slice(3)) === 'switch' && inline === undefined) {
    return { value: 'switch' }
  }
  // A field of a JSON value by its path, as in --speculative-config.method.
  const dot = word.indexOf('.')
  return dot > 0 && OPTIONS.get(word.slice(0, dot)) === 'json' ? { value: 'text' } : undefined
}

function valuesAfter(args: readonly string[], from: number, value: OptionValue): readonly string[] {
  if (value === 'switch') return []
  const maxValues = value === 'texts' ? args.length : 1
  let to = from
  while (to < args.length && to - from < maxValues && splitArgument(args[to]!).name === undefined) to++
  return args.slice(from, to)
}

function valueProblem(value: OptionValue, values: readonly string[], inline: boolean): string | undefined {
  const [first] = values
  if (value === 'switch') return inline ? `ignored explicit argument '${first}'` : undefined
  if (value === 'perhaps') return undefined
  if (first === undefined) return value === 'texts' ? 'expected at least one argument' : 'expected one argument'
  if (value === 'int') return /^[+-]?\d+$/.test(first) ? undefined : `invalid int value: '${first}'`
  if (value === 'size')
    return /^-?\d+(\.\d+)?[kKmMgGtT]$|^-?\d+$/.test(first) ? undefined : `invalid int value: '${first}'`
  if (value === 'float') {
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(first) ? undefined : `invalid float value: '${first}'`
  }
  if (value === 'json') return tryParseJson(first) !== undefined ? undefined : `invalid JSON value: '${first}'`
  if (value === 'text' || value === 'texts' || value.includes(first)) return undefined
  return `invalid choice: '${first}' (choose from ${value.map(word => `'${word}'`).join(', ')})`
}

function suggestOption(name: string): string {
  const suggestion = nearestWord(name.replace(/^-+/, '').replaceAll('_', '-'), OPTIONS.keys())
  return suggestion === undefined ? '' : ` (did you mean --${suggestion}?)`
}
