import type { Argv } from 'yargs'
import { loadFixture } from '../../data/fixtures/load.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../../server/http/server.ts'
import { clientVariables } from '../../server/worlds/served-world.ts'
import { EXIT_CODES } from '../command.ts'
import { flag, integer, outerFlags, textFlag } from '../values.ts'

interface Arguments {
  port: number
  host: string
  fixtures: string
}

export const command = 'env'
export const describe = 'Print environment variables that point clients to a server'
export const takesConfig = true

export function builder(argv: Argv): Argv<Arguments> {
  return outerFlags(argv, {
    port: {
      ...flag('port', 'Port of the server', String(DEFAULT_PORT)),
      coerce: integer('port', { min: 1, max: 65_535 }, DEFAULT_PORT),
    },
    host: textFlag('host', 'Address of the server', DEFAULT_HOST),
    fixtures: textFlag('fixtures', 'Fixture that the server was started with', 'default'),
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
