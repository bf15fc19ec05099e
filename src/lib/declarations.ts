/**
 * The one table of the bounds on inputs: sizes, depths, counts and times. `npm run generate` writes docs/limits.md from
 * it. Limits of the live service, such as the length of a name, are in the schemas of endpoints and in the profile.
 */

type Unit = 'bytes' | 'characters' | 'levels' | 'values' | 'milliseconds' | 'days' | 'years' | 'count'

export interface LimitDeclaration {
  readonly max: number
  readonly unit: Unit
  /** Completes "the maximum … of": what is bounded. */
  readonly of: string
  /** What happens to an input beyond it. */
  readonly beyond: string
}

const MIB = 1_048_576

/** The limits by section of docs/limits.md, and by name. */
export const SECTIONS = {
  'Requests over HTTP': {
    connections: { max: 1_024, unit: 'count', of: 'connections of a server', beyond: 'the connection is closed' },
    headersTime: { max: 10_000, unit: 'milliseconds', of: 'the time until all headers are there', beyond: '408' },
    requestTime: { max: 60_000, unit: 'milliseconds', of: 'the time until the whole request is there', beyond: '408' },
    drainedBytes: {
      max: 64 * MIB,
      unit: 'bytes',
      of: 'a refused body that is read to its end',
      beyond: 'the connection is closed',
    },
    drainTime: {
      max: 500,
      unit: 'milliseconds',
      of: 'the time to read a refused body',
      beyond: 'the connection is closed',
    },
  },
  'JSON bodies': {
    bodyBytes: { max: 64 * MIB, unit: 'bytes', of: 'a JSON body', beyond: '413' },
    countTokensBytes: { max: 8 * MIB, unit: 'bytes', of: 'the body of `count_tokens`', beyond: '413' },
    bodyDepth: { max: 64, unit: 'levels', of: 'nested arrays and objects in a JSON body', beyond: '422' },
    bodyValues: { max: 200_000, unit: 'values', of: 'a JSON body', beyond: '422' },
    tokenBodyValues: {
      max: 500_000,
      unit: 'values',
      of: 'a body of embeddings or completions, whose inputs can be tokens',
      beyond: '422',
    },
    worldBodyValues: {
      max: 5_000_000,
      unit: 'values',
      of: 'a body of `POST /_sim/worlds`, which can be a fixture',
      beyond: '422',
    },
    countedErrors: { max: 1_000, unit: 'count', of: 'counted errors of a 422', beyond: 'the rest is not read' },
    errorDetails: { max: 100, unit: 'count', of: 'listed errors of a 422', beyond: 'only their number is given' },
    errorCharacters: { max: 4_000, unit: 'characters', of: 'an error message of the service', beyond: 'it is cut' },
    quotedCharacters: { max: 200, unit: 'characters', of: 'a value that an error message quotes', beyond: 'it is cut' },
  },
  'Uploads and batches': {
    formParts: { max: 100, unit: 'count', of: 'the parts of a form', beyond: '400' },
    formFieldBytes: { max: MIB, unit: 'bytes', of: 'a text field of a form', beyond: '400' },
    ignoredBytes: { max: 32 * MIB, unit: 'bytes', of: 'the parts that nothing reads', beyond: '413' },
    framingBytes: { max: 2 * MIB, unit: 'bytes', of: 'the framing of a form around its file', beyond: '413' },
    batchLines: { max: 50_000, unit: 'count', of: 'the lines of a batch', beyond: 'the batch fails' },
    lineErrorCharacters: {
      max: 200,
      unit: 'characters',
      of: 'a text that an error of a batch line quotes',
      beyond: 'it is cut',
    },
  },
  Models: {
    embeddingInputs: { max: 2_048, unit: 'count', of: 'the inputs of an embeddings request', beyond: '422' },
    completionPrompts: { max: 128, unit: 'count', of: 'the prompts of a completion', beyond: '422' },
    requestIds: { max: 1_000, unit: 'count', of: 'the ids of a request for costs', beyond: '422' },
    requestCosts: {
      max: 16_384,
      unit: 'count',
      of: 'the newest requests to models whose costs are kept',
      beyond: 'the oldest are forgotten',
    },
    choices: { max: 4, unit: 'count', of: 'the choices of an answer (`n`)', beyond: '422' },
    imageSide: { max: 2_048, unit: 'count', of: 'the pixels of a side of a made image', beyond: '400' },
    imagePromptCharacters: { max: 32_000, unit: 'characters', of: 'the prompt of an image', beyond: '422' },
    imageUploadBytes: { max: 20 * MIB, unit: 'bytes', of: 'the uploaded files of an image request', beyond: '413' },
    imageUploadPixels: { max: 16_777_216, unit: 'count', of: 'the pixels of an uploaded image', beyond: '400' },
    unbrokenRun: {
      max: 1_000,
      unit: 'characters',
      of: 'a run with or without spaces that the tokenizer merges',
      beyond: 'it is counted in pieces',
    },
    schemaPattern: { max: 4_000, unit: 'characters', of: 'a `pattern` of a JSON schema', beyond: '400' },
    schemaRepeatedGroup: {
      max: 20,
      unit: 'characters',
      of: 'a text for a `pattern` that repeats a group',
      beyond: '400',
    },
    schemaDepth: {
      max: 6,
      unit: 'levels',
      of: 'optional parts of an answer by a JSON schema',
      beyond: 'they are left out',
    },
    schemaValues: { max: 10_000, unit: 'values', of: 'the answers of a request by a JSON schema', beyond: '400' },
    schemaCharacters: {
      max: 100_000,
      unit: 'characters',
      of: 'the answers of a request by a JSON schema',
      beyond: '400',
    },
    schemaSteps: { max: 1_000_000, unit: 'count', of: 'the steps of a search for answers', beyond: '400' },
  },
  Audio: {
    speechCharacters: { max: 4_096, unit: 'characters', of: 'a text that is spoken', beyond: '422' },
    audioBytes: { max: 25 * MIB, unit: 'bytes', of: 'uploaded audio', beyond: '413' },
    audioTime: { max: 8 * 3_600_000, unit: 'milliseconds', of: 'the length of uploaded audio', beyond: '400' },
  },
  'Resources of an account': {
    deployments: { max: 100_000, unit: 'count', of: 'deployments', beyond: '429' },
    deploymentInstances: { max: 10_000, unit: 'count', of: 'instances of a deployment', beyond: '422' },
    rentals: { max: 100_000, unit: 'count', of: 'hosted instances and containers', beyond: '429' },
    filledRecords: {
      max: 100_000,
      unit: 'count',
      of: 'the models or deployments up to which a world is filled',
      beyond: 'the option is refused',
    },
    usageDays: { max: 31, unit: 'days', of: 'the range of a usage report', beyond: '400' },
  },
  'Control plane': {
    worlds: { max: 1_024, unit: 'count', of: 'worlds of a server', beyond: '429' },
    snapshots: { max: 100, unit: 'count', of: 'named snapshots of a world', beyond: '429' },
    snapshotBytes: { max: 256 * MIB, unit: 'bytes', of: 'an imported snapshot', beyond: '413' },
    whereCharacters: {
      max: 10_000,
      unit: 'characters',
      of: '`where` of `POST /_sim/clock/until`, as JSON',
      beyond: '400',
    },
    ownerCharacters: { max: 200, unit: 'characters', of: 'the name of a hold of the clock', beyond: '422' },
    expectations: { max: 100, unit: 'count', of: 'the expectations of a verification', beyond: '400' },
    listedBody: {
      max: 4_000,
      unit: 'characters',
      of: 'a body in a list of requests and in an event',
      beyond: 'it is cut',
    },
    shownBody: {
      max: 1_000_000,
      unit: 'characters',
      of: 'a body of one request or answer of the control plane',
      beyond: 'it is cut',
    },
    eventReaders: { max: 100, unit: 'count', of: 'the readers of the events of a world', beyond: '429' },
    explainEvents: {
      max: 1_500,
      unit: 'count',
      of: 'the events that an explanation looks ahead',
      beyond: 'a sentence says up to when',
    },
    aheadEvents: { max: 50_000, unit: 'count', of: 'the events of a look ahead', beyond: 'it ends there' },
    listedMarks: {
      max: 100,
      unit: 'count',
      of: 'the marks of a row of lifecycles',
      beyond: 'only the newest are listed',
    },
    seriesRows: { max: 1_000_000, unit: 'count', of: 'the rows of a series of a report', beyond: '400' },
  },
  'Fault rules': {
    rulePattern: { max: 1_000, unit: 'characters', of: 'a pattern of a fault rule', beyond: 'the rule is refused' },
    rulePatterns: { max: 1_000, unit: 'count', of: 'the patterns of a fault rule', beyond: 'the rule is refused' },
    faultHeaders: { max: 50, unit: 'count', of: 'the headers of an injected answer', beyond: 'the rule is refused' },
    faultHeader: {
      max: 1_000,
      unit: 'characters',
      of: 'a header of an injected answer',
      beyond: 'the rule is refused',
    },
    faultBody: { max: 65_536, unit: 'characters', of: 'a body of an injected answer', beyond: 'the rule is refused' },
    pastWorlds: { max: 256, unit: 'count', of: 'the past worlds for stale reads', beyond: 'stale reads are less old' },
  },
  'Time and events': {
    duration: { max: 100, unit: 'years', of: 'a duration, such as `by` of a move of time', beyond: 'it is refused' },
    worldAge: { max: 200, unit: 'years', of: 'the age of a world', beyond: 'the move is refused' },
    scheduledEvents: { max: 10_000_000, unit: 'count', of: 'the events that are scheduled', beyond: 'the step fails' },
    moveEvents: { max: 10_000_000, unit: 'count', of: 'the events of one move of time', beyond: 'the move rejects' },
    silentEvents: {
      max: 200_000,
      unit: 'count',
      of: 'the events of a move to the next change, without a change',
      beyond: 'the move rejects',
    },
    instantEvents: { max: 100_000, unit: 'count', of: 'the events at one instant', beyond: 'the move rejects' },
  },
  'Files of the user': {
    toolMessageBytes: { max: 4 * MIB, unit: 'bytes', of: 'a message to `mcp`', beyond: 'it is refused' },
    scenarioBytes: { max: 256 * 1_024, unit: 'bytes', of: 'a scenario in YAML or JSON', beyond: 'it is refused' },
    scenarioAliases: { max: 50, unit: 'count', of: 'the aliases of a scenario in YAML', beyond: 'it is refused' },
    ruleRepeats: { max: 100, unit: 'count', of: 'the repeats of a rule in a timeline', beyond: 'it is refused' },
    flowRequests: {
      max: 2_000,
      unit: 'count',
      of: 'the requests of a flow in one run of explore',
      beyond: 'the flow counts as one that does not end',
    },
    commandOutput: {
      max: MIB,
      unit: 'characters',
      of: 'the output of a command that is explored',
      beyond: 'the rest is not kept',
    },
    traceDays: { max: 3_650, unit: 'days', of: 'a trace of load', beyond: 'it is refused' },
    loadRate: { max: 1e9, unit: 'count', of: 'the requests per second of a load', beyond: 'it is refused' },
    seeds: {
      max: 100_000,
      unit: 'count',
      of: 'the seeds of a run or of all its shards',
      beyond: 'the flag is refused',
    },
    seriesFileRows: {
      max: 50_000_000,
      unit: 'count',
      of: 'the rows of a file of `simulate --series`',
      beyond: 'it is refused',
    },
    plotSteps: {
      max: 2_000,
      unit: 'count',
      of: 'the steps of the picture of `simulate --plot`',
      beyond: 'it is refused',
    },
  },
  Memory: {
    journalEntries: { max: 20_000, unit: 'count', of: 'the entries of a journal', beyond: 'the oldest are dropped' },
    journalPath: { max: 1_000, unit: 'characters', of: 'a path in the journal', beyond: 'it is cut' },
    requests: { max: 1_000, unit: 'count', of: '`sim.requests`', beyond: 'the oldest are dropped' },
    requestCharacters: {
      max: 16 * MIB,
      unit: 'characters',
      of: '`sim.requests` together',
      beyond: 'the oldest are dropped',
    },
    requestPath: { max: 4_000, unit: 'characters', of: 'a path in `sim.requests`', beyond: 'it is cut' },
    requestBody: { max: 65_536, unit: 'characters', of: 'a body in `sim.requests`', beyond: 'it is cut' },
    recordedAnswerBytes: {
      max: 4 * MIB,
      unit: 'bytes',
      of: 'an answer in a recording',
      beyond: 'its length and its checksum are recorded',
    },
    pastBytes: {
      max: 64 * MIB,
      unit: 'bytes',
      of: 'the recorded past of a world',
      beyond: 'the oldest part is dropped',
    },
    pastCheckpoints: {
      max: 100,
      unit: 'count',
      of: 'the checkpoints of a past',
      beyond: 'every second one is dropped',
    },
    logLines: { max: 65_536, unit: 'count', of: 'the lines of a log', beyond: 'the oldest are dropped' },
    reportedBugs: {
      max: 100,
      unit: 'count',
      of: 'the different bugs that a server prints',
      beyond: 'they are not printed',
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, LimitDeclaration>>>>
