/** The playground: a simulator in the page, an editor with examples, and the control room beside it. */

import { signal } from '@preact/signals'
import { render } from 'preact'
import { parseJsonOrText } from '../../../src/lib/json-text.ts'
import { shellQuote } from '../../../src/lib/quote.ts'
import { inSlices } from '../../../src/lib/slices.ts'
import { openPage } from '../../../src/server/page/main.tsx'
import { CopyButton } from '../../../src/server/page/parts/buttons.tsx'
import type { Connection } from '../../../src/server/page/store/ask.ts'
import { openSimulatorInPage, PAGE_ORIGIN } from '../../../src/server/saved-page/connect.ts'
import type { SavedContent } from '../../../src/server/saved-page/content.ts'
import { preparePage } from '../../../src/server/saved-page/page-recording.ts'
import type { CompressedScript, PageParts } from '../../../src/server/saved-page/parts.ts'
import { savedPage } from '../../../src/server/saved-page/saved-page.ts'

/**
 * Opens the playground.
 *
 * @param editorRoot gets the editor
 * @param roomRoot gets the control room; its id is `app`
 */
export function openPlayground(editorRoot: HTMLElement, roomRoot: HTMLElement): void {
  const connection = openSimulatorInPage({ fixtures: 'default', seed: 1, clock: 'manual' }, { writePage })
  const world = connection.worlds.default
  connection.pasts.keep(world.sim)
  // For the console of the browser: await simulator.send('/_sim/digest').
  Object.assign(globalThis, { simulator: connection })
  render(<EditorPanel editor={new Editor(connection, world.token!)} />, editorRoot)
  openPage(roomRoot, connection)
}

/** The state of the editor. */
class Editor {
  readonly example = signal<Example>(EXAMPLES[0])
  readonly code = signal(EXAMPLES[0].code)
  readonly printed = signal<readonly string[]>([])
  readonly curls = signal<readonly string[]>([])
  readonly problem = signal<string | undefined>(undefined)
  readonly isRunning = signal(false)
  /** Whether each run begins with the world as it was at its start. */
  readonly startsAnew = signal(true)
  readonly #connection: Connection
  readonly #token: string

  constructor(connection: Connection, token: string) {
    this.#connection = connection
    this.#token = token
  }

  select(example: Example): void {
    this.example.value = example
    this.code.value = example.code
    this.clear()
  }

  clear(): void {
    this.printed.value = []
    this.curls.value = []
    this.problem.value = undefined
  }

  /** Runs the code. Does nothing while it runs. */
  async run(): Promise<void> {
    if (this.isRunning.value) return
    this.clear()
    this.isRunning.value = true
    try {
      if (this.startsAnew.value) await this.#connection.send('/_sim/reset', { method: 'POST' })
      await runCode(this.code.value, this.#connection, this.#token, {
        onPrint: line => {
          this.printed.value = [...this.printed.value, line]
        },
        onCurl: curl => {
          this.curls.value = [...this.curls.value, curl]
        },
      })
    } catch (error) {
      this.problem.value = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    } finally {
      this.isRunning.value = false
    }
  }
}

function EditorPanel({ editor }: { readonly editor: Editor }) {
  const { example, code, printed, curls, problem, isRunning, startsAnew } = editor
  return (
    <>
      <h1>Playground</h1>
      <p class="faint">The simulator runs in this page. The control room beside it shows the same world.</p>
      <fieldset class="examples">
        <legend>Examples</legend>
        {EXAMPLES.map(each => (
          <button
            type="button"
            key={each.title}
            aria-pressed={each === example.value}
            onClick={() => editor.select(each)}
          >
            {each.title}
          </button>
        ))}
      </fieldset>
      <p id="says">{example.value.says}</p>
      <textarea
        aria-label="Code"
        aria-describedby="says"
        spellcheck={false}
        autocapitalize="off"
        value={code.value}
        rows={Math.max(12, code.value.split('\n').length + 1)}
        onInput={event => {
          code.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          void editor.run()
        }}
      />
      <p class="bar">
        <button type="button" class="primary" disabled={isRunning.value} onClick={() => void editor.run()}>
          {isRunning.value ? 'Running' : 'Run'}
        </button>
        <label>
          <input
            type="checkbox"
            checked={startsAnew.value}
            onChange={event => {
              startsAnew.value = event.currentTarget.checked
            }}
          />{' '}
          Begin with a new world
        </label>
        <span class="faint">Ctrl+Enter runs, too.</span>
      </p>
      <p class="faint">
        The code can use <code>get(path)</code>, <code>post(path, body)</code>, <code>send(method, path, body)</code>{' '}
        and <code>print(…)</code>.
      </p>
      {problem.value !== undefined && <p role="alert">{problem.value}</p>}
      {printed.value.length > 0 && (
        <section aria-label="Output">
          <h2>Output</h2>
          <pre tabIndex={0}>{printed.value.join('\n')}</pre>
        </section>
      )}
      {curls.value.length > 0 && (
        <section aria-label="The same with curl">
          <h2>
            The same with curl <CopyButton label="Copy" text={() => curls.value.join('\n')} />
          </h2>
          <p class="faint">
            For a server of <code>npx modelhost-sim serve --clock manual</code>.
          </p>
          <pre tabIndex={0}>{curls.value.join('\n')}</pre>
        </section>
      )}
    </>
  )
}

interface CodeRun {
  /** Called with each line that the code prints. */
  onPrint(line: string): void
  /** Called with each request, as a command line for a server with the same world. */
  onCurl(curl: string): void
}

/** The names that the code can use. */
const NAMES = ['get', 'post', 'send', 'print'] as const

/**
 * Runs code as the body of an async function. Its requests have the token of the world.
 *
 * @throws SyntaxError for code that is not JavaScript, and the errors of the code
 */
async function runCode(code: string, connection: Connection, token: string, run: CodeRun): Promise<void> {
  const send = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> => {
    const isControl = /^\/_sim(?!\/worlds\/\w+\/(?!_sim))/.test(path)
    const json = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      ...(!isControl && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    }
    run.onCurl(curlOf(method, path, json, isControl ? undefined : token))
    const response = await connection.send(path, { method, headers, ...(json !== undefined && { body: json }) })
    return { status: response.status, body: parseJsonOrText(await response.text()) }
  }
  const sendAndRequire = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await send(method, path, body)
    if (answer.status < 400) return answer.body
    throw new Error(`${method} ${path} is answered with ${answer.status}: ${format(answer.body)}`)
  }
  const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<void>
  const play = new AsyncFunction(...NAMES, `'use strict'\n${code}`)
  const get = (path: string) => sendAndRequire('GET', path)
  const post = (path: string, body?: unknown) => sendAndRequire('POST', path, body)
  await play(get, post, send, (...values: readonly unknown[]) => run.onPrint(values.map(format).join(' ')))
}

function format(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? String(value))
}

function curlOf(method: string, path: string, json: string | undefined, token: string | undefined): string {
  const flags = [
    ...(method === 'GET' || (method === 'POST' && json !== undefined) ? [] : [`-X ${method}`]),
    ...(token === undefined ? [] : [`-H ${shellQuote(`authorization: Bearer ${token}`)}`]),
    ...(json === undefined ? [] : [`--json ${shellQuote(json)}`]),
  ]
  return ['curl', ...flags, shellQuote(PAGE_ORIGIN + path)].join(' ')
}

/** The examples of the playground. Each is the body of an async function. */

interface Example {
  readonly title: string
  /** What it shows, in a sentence. */
  readonly says: string
  readonly code: string
}

export const EXAMPLES: readonly [Example, ...Example[]] = [
  {
    title: 'Deploy a model',
    says: 'A deployment starts on a cold node. Its time passes when the clock is moved, and not before.',
    code: `const model = { model_name: 'acme/new', hub: { repo: 'acme/chat-8b' }, gpu: 'H100-80GB', num_gpus: 1 }
const { deploy_id } = await post('/deploy/llm', model)
const { sentences } = await get('/_sim/explain/' + deploy_id)
print(sentences.join('\\n'))

await post('/_sim/clock/advance', { by: '20m' })
const { status } = await get('/deploy/' + deploy_id)
print('after 20 minutes:', status)
`,
  },
  {
    title: 'Stream an answer',
    says: 'A running deployment answers as OpenAI does. The same seed gives the same tokens.',
    code: `const answer = await post('/v1/chat/completions', {
  model: 'acme/assistant',
  messages: [{ role: 'user', content: 'Why is the sky blue?' }],
  max_tokens: 20,
  stream: true,
})
const events = answer.split('\\n').filter(line => line.startsWith('data: {'))
const chunks = events.map(line => JSON.parse(line.slice(6)))
print(events.length, 'events:', chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''))
`,
  },
  {
    title: 'Crash a node',
    says: 'An instance is lost with its node. The cluster replaces it elsewhere, which takes time and money.',
    code: `const model = { model_name: 'acme/new', hub: { repo: 'acme/chat-8b' }, gpu: 'H100-80GB', num_gpus: 1 }
const { deploy_id } = await post('/deploy/llm', model)
await post('/_sim/clock/advance', { by: '20m' })

const { name } = await get('/_sim/cluster/deployments/' + deploy_id + '/node')
await post('/_sim/commands', { verb: 'node.crash', target: name })
print(name, 'crashes with an instance of', deploy_id)

const { counts } = await post('/_sim/clock/advance', { by: '30m' })
for (const [kind, count] of Object.entries(counts)) print(count, kind)
`,
  },
  {
    title: 'Refuse two requests',
    says: 'A fault rule changes what a client gets. The third request is answered as if nothing had been.',
    code: `await post('/_sim/faults', {
  on: 'listDeployments',
  times: 2,
  fault: { kind: 'rateLimit', retryAfter: '3s' },
})
for (let attempt = 1; attempt <= 3; attempt++) {
  const { status } = await send('GET', '/deploy/list')
  print('attempt', attempt, 'got', status)
}
`,
  },
  {
    title: 'Fork a world',
    says: 'A fork goes on from the same state. What happens to one world does not happen to the other.',
    code: `const { world } = await post('/_sim/worlds', { from: 'default' })
const [first] = await get('/deploy/list')
await post('/_sim/worlds/' + world + '/deploy/' + first.deploy_id + '/stop')

for (const base of ['', '/_sim/worlds/' + world]) {
  await post(base + '/_sim/clock/advance', { by: '1h' })
  const { status } = await get(base + '/deploy/' + first.deploy_id)
  print(base === '' ? 'default' : world, status)
}
`,
  },
]

/** Returns a page that runs recordings again. Rejects if the parts cannot be loaded. */
async function writePage(content: SavedContent): Promise<string> {
  const prepared = await inSlices(preparePage(content))
  const parts = await load<PageParts>('saved-page.json')
  const tokenizer = prepared.needsTokenizer ? await load<CompressedScript>('tokenizer.json') : undefined
  return inSlices(savedPage({ ...parts, tokenizer }, prepared.content))
}

async function load<Part>(name: string): Promise<Part> {
  if (location.protocol === 'file:') {
    throw new Error(
      'Failed to save a page: a page from the file system cannot read its parts. Open it from a web server.',
    )
  }
  const response = await fetch(new URL(name, document.baseURI))
  if (!response.ok)
    throw new Error(`Failed to load ${name}: the server answers ${response.status}. Build the site again.`)
  return (await response.json()) as Part
}
