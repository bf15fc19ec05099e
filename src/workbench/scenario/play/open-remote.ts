/** Makes a world for one scenario on a running server. */

import { loadFixture } from '../../../data/fixtures/load.ts'
import { DEFAULT_EPOCH_MS } from '../../../kernel/clock.ts'
import { readNames } from '../../../service/naming/names-profile.ts'
import { toHttpFields } from '../../../simulator/option-fields.ts'
import { isSnapshotFixture } from '../../../simulator/options.ts'
import type { ScenarioOptions } from '../scenario.ts'
import { ControlClient, NoServerError, type ServerAddress } from './control-client.ts'
import { RemoteEnvironment } from './remote.ts'

/** Limit of the journal of a played world: a trace must not lose its start. */
const JOURNAL_LIMIT = 1_000_000

/**
 * Makes a world for a scenario on a running server.
 *
 * @throws Error if no such server answers, or the server rejects the options
 * @example const environment = await openRemoteEnvironment('http://127.0.0.1:4010', { fixtures: 'two-nodes', seed: 7 })
 */
export async function openRemoteEnvironment(
  server: string | ServerAddress,
  options: ScenarioOptions,
): Promise<RemoteEnvironment> {
  const { url, controlToken }: ServerAddress = typeof server === 'string' ? { url: server } : server
  const root = url.replace(/\/+$/, '')
  if (isSnapshotFixture(options.fixtures)) {
    throw new RangeError(
      `Failed to play against ${root}: the scenario begins with a snapshot, which holds the tokens of its world and is not sent to a server. ` +
        'Play it in this process, or begin with a fixture.',
    )
  }
  const control = new ControlClient(root, controlToken)
  const spec = worldSpec(options)
  try {
    const { world, token, base_url } = await control.request('POST', '/_sim/worlds', spec)
    return new RemoteEnvironment(control, {
      path: `/_sim/worlds/${world}`,
      baseUrl: base_url,
      // At its own address a world accepts its tokens without the suffix that routes them.
      token: token?.slice(0, -`.${world}`.length) ?? '',
      seed: String(spec.seed),
      epochMs: options.epoch === undefined ? DEFAULT_EPOCH_MS : Date.parse(options.epoch),
    })
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error
    throw new Error(
      `Failed to play against ${root}: ${error.message}. Start a server with 'modelhost-sim serve', or give the address of one.`,
    )
  }
}

/**
 * Returns the body that creates a scenario's world. It sets every option, because a missing one would be the server's.
 */
function worldSpec(options: ScenarioOptions) {
  const { fixtures, names, epoch } = options
  return toHttpFields({
    ...options,
    fixtures: isPath(fixtures) ? loadFixture(fixtures, epochOf(epoch)) : fixtures,
    names: names === undefined ? undefined : readNames(names).profile,
    journalLimit: JOURNAL_LIMIT,
  })
}

function isPath(fixtures: ScenarioOptions['fixtures']): fixtures is string {
  return typeof fixtures === 'string' && /[\\/]/.test(fixtures)
}

function epochOf(epoch: string | undefined) {
  return epoch === undefined ? {} : { epochMs: Date.parse(epoch) }
}
