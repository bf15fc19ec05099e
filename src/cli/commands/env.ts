import type { Argv } from 'yargs'
import { loadFixture } from '../../data/fixtures/load.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../../server/http/server.ts'
import { clientVariables } from '../../server/worlds/served-world.ts'
import { EXIT_CODES } from '../command.ts'
import { fromEnvironment, integer, text } from '../values.ts'

interface Arguments {
  port: number
  host: string
  fixtures: string
}

export const command = 'env'
export const describe = 'Print environment variables that point clients to a server'

export function builder(argv: Argv): Argv<Arguments> {
  return argv
    .options({
      port: {
        describe: 'Port of the server',
        type: 'string',
        requiresArg: true,
        default: fromEnvironment('port') ?? String(DEFAULT_PORT),
        coerce: integer('port', { min: 1, max: 65_535 }, DEFAULT_PORT),
      },
      host: {
        describe: 'Address of the server',
        type: 'string',
        requiresArg: true,
        default: fromEnvironment('host') ?? DEFAULT_HOST,
        coerce: text('host'),
      },
      fixtures: {
        describe: 'Fixture that the server was started with',
        type: 'string',
        requiresArg: true,
        default: fromEnvironment('fixtures') ?? 'default',
        coerce: text('fixtures'),
      },
    })
    .example('export $($0 env)', 'in a shell: clients started from here use the simulator')
    .epilogue(EXIT_CODES) as unknown as Argv<Arguments>
}

export function handler({ port, host, fixtures }: Arguments): void {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const token = loadFixture(fixtures).api_tokens[0]?.token ?? ''
  const variables = Object.entries(clientVariables(url, token))
  process.stdout.write(variables.map(([name, value]) => `${name}=${value}\n`).join(''))
}
