/** The editor of the playground: examples, their code, what it prints, and its requests as command lines. */

import { signal } from '@preact/signals'
import { CopyButton } from '../page/parts/copy-button.tsx'
import type { Connection } from '../page/store/connection.ts'
import { EXAMPLES, type Example } from './examples.ts'
import { runCode } from './run-code.ts'

/** The state of the editor. */
export class Editor {
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

export function EditorPanel({ editor }: { readonly editor: Editor }) {
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
