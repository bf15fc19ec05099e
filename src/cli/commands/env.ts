import { loadFixture } from '../../data/fixtures/load.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../../server/http/server.ts'
import { clientVariables } from '../../server/worlds/served-world.ts'
import { type ArgumentsOf, flag } from '../flags.ts'
import { filledText, integer } from '../values.ts'

export const command = 'env'
export const describe = 'Print environment variables that point clients to a server'
export const takesConfig = true
const port = integer({ min: 0, max: 65_535 }, DEFAULT_PORT)
export const flags = {
  port: { ...flag('Port of the server. PORT is read, too', port, String(DEFAULT_PORT)), variable: 'PORT' },
  host: flag('Address of the server', filledText, DEFAULT_HOST),
  fixtures: flag('Fixture that the server was started with', filledText, 'default'),
}
export const examples = [['export $($0 env)', 'in a shell: clients started from here use the simulator']]

export function handler({ port, host, fixtures }: ArgumentsOf<typeof flags>): void {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port || DEFAULT_PORT}`
  const token = loadFixture(fixtures).api_tokens[0]?.token ?? ''
  const variables = Object.entries(clientVariables(url, token))
  process.stdout.write(variables.map(([name, value]) => `${name}=${value}\n`).join(''))
}
