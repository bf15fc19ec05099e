import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, type Scaffold } from './declarations.ts'
import { assertKnown, assertName, assertNew, assertText, InputError, quote, wordsOf } from './input.ts'

interface Flags {
  readonly teaches?: string | undefined
  readonly client?: string | undefined
}

/** Plans a scenario in which a deployment starts; its trace is recorded by a run. */
export function planScenario([given]: readonly string[], flags: Flags): Scaffold {
  const path = assertName(
    'scenario',
    given,
    /^[a-z]+\/[a-z\d]+(-[a-z\d]+)*$/,
    "a folder and a name, as in 'money/card-expires'",
  )
  const [folder, name] = path.split('/') as [string, string]
  const folders = readdirSync(join(ROOT, 'scenarios'), { withFileTypes: true }).filter(entry => entry.isDirectory())
  assertKnown(
    'folder of scenarios',
    folder,
    folders.map(entry => entry.name),
  )
  const existing = readdirSync(join(ROOT, 'scenarios', folder)).map(file => file.replace(/\.\w+$/, ''))
  assertNew('scenario', name, existing)
  const teaches = assertText('teaches', flags.teaches, true)
  const client = assertText('client', flags.client, true)
  const file = `scenarios/${path}.ts`
  if (existsSync(join(ROOT, file))) throw new InputError(`Failed to create ${file}: it exists. Choose another name.`)
  return {
    files: [{ path: file, text: script(name, folder, teaches, client) }],
    recorded: file,
    next: [
      `Edit ${file}: the failure, what the client does, and the checks.`,
      `Record the trace again with npx modelhost-sim run ${file} --update, and read its diff.`,
      'Run npm run generate for docs/incidents.md.',
    ],
  }
}

function script(name: string, folder: string, teaches: string, client: string): string {
  return `import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  ${quote(wordsOf(name).join(' '))},
  {
    fixtures: 'two-nodes',
    seed: 1,
    tags: [${quote(folder)}],
    teaches: ${quote(teaches)},
    client: ${quote(client)},
  },
  async ({ api, clock, check }) => {
    const request = { model_name: 'acme/chat', gpu: 'H100-80GB' as const, hub: { repo: 'acme/chat-8b' } }
    const { deploy_id } = await api.createLlmDeployment(request)
    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '15m' })
    check(await api.getDeployment({ deploy_id }), { instances: { running: 1 } })
  },
)
`
}
