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

/**
 * Returns a function that declares limits of a unit. Its parameters: the limit, what it bounds, and what happens to an
 * input beyond it.
 */
function limitIn(unit: Unit) {
  return (max: number, of: string, beyond: string): LimitDeclaration => ({ max, unit, of, beyond })
}

const bytes = limitIn('bytes')
const characters = limitIn('characters')
const levels = limitIn('levels')
const values = limitIn('values')
const milliseconds = limitIn('milliseconds')
const days = limitIn('days')
const years = limitIn('years')
const count = limitIn('count')

const MIB = 1_048_576

/** The limits by section of docs/limits.md, and by name. */
export const SECTIONS = {
  'Requests over HTTP': {
    connections: count(1_024, 'connections of a server', 'the connection is closed'),
    headersTime: milliseconds(10_000, 'the time until all headers are there', '408'),
    requestTime: milliseconds(60_000, 'the time until the whole request is there', '408'),
    drainedBytes: bytes(64 * MIB, 'a refused body that is read to its end', 'the connection is closed'),
    drainTime: milliseconds(500, 'the time to read a refused body', 'the connection is closed'),
  },
  'JSON bodies': {
    bodyBytes: bytes(64 * MIB, 'a JSON body', '413'),
    countTokensBytes: bytes(8 * MIB, 'the body of `count_tokens`', '413'),
    bodyDepth: levels(64, 'nested arrays and objects in a JSON body', '422'),
    bodyValues: values(200_000, 'a JSON body', '422'),
    tokenBodyValues: values(500_000, 'a body of embeddings or completions, whose inputs can be tokens', '422'),
    worldBodyValues: values(5_000_000, 'a body of `POST /_sim/worlds`, which can be a fixture', '422'),
    countedErrors: count(1_000, 'counted errors of a 422', 'the rest is not read'),
    errorDetails: count(100, 'listed errors of a 422', 'only their number is given'),
    errorCharacters: characters(4_000, 'an error message of the service', 'it is cut'),
    quotedCharacters: characters(200, 'a value that an error message quotes', 'it is cut'),
  },
  'Uploads and batches': {
    formParts: count(100, 'the parts of a form', '400'),
    formFieldBytes: bytes(MIB, 'a text field of a form', '400'),
    ignoredBytes: bytes(32 * MIB, 'the parts that nothing reads', '413'),
    framingBytes: bytes(2 * MIB, 'the framing of a form around its file', '413'),
    batchLines: count(50_000, 'the lines of a batch', 'the batch fails'),
    lineErrorCharacters: characters(200, 'a text that an error of a batch line quotes', 'it is cut'),
  },
  Models: {
    embeddingInputs: count(2_048, 'the inputs of an embeddings request', '422'),
    completionPrompts: count(128, 'the prompts of a completion', '422'),
    requestIds: count(1_000, 'the ids of a request for costs', '422'),
    requestCosts: count(16_384, 'the newest requests to models whose costs are kept', 'the oldest are forgotten'),
    choices: count(4, 'the choices of an answer (`n`)', '422'),
    imageSide: count(2_048, 'the pixels of a side of a made image', '400; 422 for native inference'),
    imagePromptCharacters: characters(32_000, 'the prompt of an image', '422'),
    imageUploadBytes: bytes(20 * MIB, 'the uploaded files of an image request', '413'),
    imageUploadPixels: count(16_777_216, 'the pixels of an uploaded image', '400'),
    unbrokenRun: characters(1_000, 'a run with or without spaces that the tokenizer merges', 'it is counted in pieces'),
    schemaPattern: characters(4_000, 'a `pattern` of a JSON schema', '400'),
    schemaRepeatedGroup: characters(20, 'a text for a `pattern` that repeats a group', '400'),
    schemaDepth: levels(6, 'optional parts of an answer by a JSON schema', 'they are left out'),
    schemaValues: values(10_000, 'the answers of a request by a JSON schema', '400'),
    schemaCharacters: characters(100_000, 'the answers of a request by a JSON schema', '400'),
    schemaSteps: count(1_000_000, 'the steps of a search for answers', '400'),
  },
  Audio: {
    speechCharacters: characters(4_096, 'a text that is spoken', '422'),
    audioBytes: bytes(25 * MIB, 'uploaded audio', '413'),
    audioTime: milliseconds(8 * 3_600_000, 'the length of uploaded audio', '400'),
  },
  'Resources of an account': {
    nodes: count(100_000, 'nodes of a world, each group at its `max`', 'the fixture is refused'),
    deployments: count(100_000, 'deployments', '429'),
    deploymentInstances: count(10_000, 'instances of a deployment', '422'),
    rentals: count(100_000, 'hosted instances and containers', '429'),
    filledRecords: count(100_000, 'the models or deployments up to which a world is filled', 'the option is refused'),
    usageDays: days(31, 'the range of a usage report', '400'),
  },
  'Control plane': {
    worlds: count(1_024, 'worlds of a server', '429'),
    snapshots: count(100, 'named snapshots of a world', '429'),
    snapshotBytes: bytes(256 * MIB, 'an imported snapshot', '413'),
    whereCharacters: characters(10_000, '`where` of `POST /_sim/clock/until`, as JSON', '400'),
    ownerCharacters: characters(200, 'the name of a hold of the clock', '422'),
    expectations: count(100, 'the expectations of a verification', '400'),
    listedBody: characters(4_000, 'a body in a list of requests and in an event', 'it is cut'),
    shownBody: characters(1_000_000, 'a body of one request or answer of the control plane', 'it is cut'),
    eventReaders: count(100, 'the readers of the events of a world', '429'),
    explainEvents: count(1_500, 'the events that an explanation looks ahead', 'a sentence says up to when'),
    aheadEvents: count(50_000, 'the events of a look ahead', 'it ends there'),
    listedMarks: count(100, 'the marks of a row of lifecycles', 'only the newest are listed'),
    seriesRows: count(1_000_000, 'the rows of a series of a report', '400'),
  },
  'Fault rules': {
    rulePattern: characters(1_000, 'a pattern of a fault rule', 'the rule is refused'),
    rulePatterns: count(1_000, 'the patterns of a fault rule', 'the rule is refused'),
    faultHeaders: count(50, 'the headers of an injected answer', 'the rule is refused'),
    faultHeader: characters(1_000, 'a header of an injected answer', 'the rule is refused'),
    faultBody: characters(65_536, 'a body of an injected answer', 'the rule is refused'),
    pastWorlds: count(256, 'the past worlds for stale reads', 'stale reads are less old'),
  },
  'Time and events': {
    duration: years(100, 'a duration, such as `by` of a move of time', 'it is refused'),
    worldAge: years(200, 'the age of a world', 'the move is refused'),
    scheduledEvents: count(10_000_000, 'the events that are scheduled', 'the step fails'),
    moveEvents: count(10_000_000, 'the events of one move of time', 'the move rejects'),
    silentEvents: count(200_000, 'the events of a move to the next change, without a change', 'the move rejects'),
    instantEvents: count(100_000, 'the events at one instant', 'the move rejects'),
  },
  'Files of the user': {
    conformTime: milliseconds(2_000, 'the check of an answer by the document of `conform`', 'the document is refused'),
    toolMessageBytes: bytes(4 * MIB, 'a message to `mcp`', 'it is refused'),
    scenarioBytes: bytes(256 * 1_024, 'a scenario in YAML or JSON', 'it is refused'),
    scenarioAliases: count(50, 'the aliases of a scenario in YAML', 'it is refused'),
    ruleRepeats: count(100, 'the repeats of a rule in a timeline', 'it is refused'),
    flowRequests: count(
      2_000,
      'the requests of a flow in one run of explore',
      'the flow counts as one that does not end',
    ),
    commandOutput: characters(MIB, 'the output of a command that is explored', 'the rest is not kept'),
    traceDays: days(3_650, 'a trace of load', 'it is refused'),
    loadTokens: count(1_000_000, 'the tokens of a prompt or of an answer of a load', 'it is refused'),
    loadRate: count(1e9, 'the requests per second of a load', 'it is refused'),
    seeds: count(100_000, 'the seeds of a run or of all its shards', 'the flag is refused'),
    seriesFileRows: count(50_000_000, 'the rows of a file of `simulate --series`', 'it is refused'),
    plotSteps: count(2_000, 'the steps of the picture of `simulate --plot`', 'it is refused'),
  },
  Memory: {
    journalEntries: count(20_000, 'the entries of a journal', 'the oldest are dropped'),
    journalPath: characters(1_000, 'a path in the journal', 'it is cut'),
    requests: count(1_000, '`sim.requests`', 'the oldest are dropped'),
    requestCharacters: characters(16 * MIB, '`sim.requests` together', 'the oldest are dropped'),
    requestPath: characters(4_000, 'a path in `sim.requests`', 'it is cut'),
    requestBody: characters(65_536, 'a body in `sim.requests`', 'it is cut'),
    recordedAnswerBytes: bytes(4 * MIB, 'an answer in a recording', 'its length and its checksum are recorded'),
    pastBytes: bytes(64 * MIB, 'the recorded past of a world', 'the oldest part is dropped'),
    pastCheckpoints: count(100, 'the checkpoints of a past', 'every second one is dropped'),
    logLines: count(65_536, 'the lines of a log', 'the oldest are dropped'),
    reportedBugs: count(100, 'the different bugs that a server prints', 'they are not printed'),
  },
} satisfies Readonly<Record<string, Readonly<Record<string, LimitDeclaration>>>>
