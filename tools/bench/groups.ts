import { batch } from './batch.ts'
import { domain } from './domain.ts'
import { explore } from './explore.ts'
import type { Group } from './figure.ts'
import { fleet } from './fleet.ts'
import { growth } from './growth.ts'
import { inProcess } from './in-process.ts'
import { lockstep } from './lockstep.ts'
import { neighbour } from './neighbour.ts'
import { recorder } from './recorder.ts'
import { server } from './server.ts'
import { startup } from './startup.ts'
import { ui } from './ui.ts'
import { worlds } from './worlds.ts'

/** Every figure, in the order in which it is taken. */
export const groups: readonly Group[] = [
  domain,
  worlds,
  batch,
  explore,
  growth,
  inProcess,
  lockstep,
  server,
  neighbour,
  recorder,
  startup,
  ui,
  fleet,
]
