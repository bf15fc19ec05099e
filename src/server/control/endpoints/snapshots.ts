import * as z from 'zod'
import { concatBytes } from '../../../lib/bytes.ts'
import { fieldsOf } from '../../../lib/fields.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { refuse } from '../../../service/refusals.ts'
import { Bytes } from '../../../service/results.ts'
import * as conflicts from '../../../simulator/checkpoint/conflicts.ts'
import { Snapshot } from '../../../simulator/checkpoint/snapshot.ts'
import type { ServedWorld } from '../../worlds/served-world.ts'
import { type ControlScope, control, refuseInvalid, requireSnapshot } from '../endpoint.ts'
import { ClockModeSchema, clockModeOf } from '../world-view.ts'

const Name = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,63}$/,
    'should be 1 to 64 lower-case letters, digits and dashes, and not begin with a dash',
  )

const SnapshotView = z.object({
  snapshot: z.string().describe('Its name'),
  now: z.string().describe('The time of its world'),
  ...fieldsOf(z.string(), 'digest', 'seed', 'fixtures', 'profile'),
  version: z.string().describe('The version of modelhost-sim that took it'),
})

const UNKNOWN_SNAPSHOT = 'an unknown snapshot'

export const takeSnapshot = control({
  route: 'POST /_sim/snapshots',
  summary:
    'Take a snapshot of the world under a name. Default: `snapshot-1`, `snapshot-2`, …. It has the state of the ' +
    'world, its fault rules, its playing scenarios and its clock',
  example: { body: { name: 'before-the-storm' } },
  refusals: { 409: 'a duplicate name', 429: 'too many snapshots in this world' },
  body: z.strictObject({ name: Name.optional() }).optional(),
  returns: SnapshotView,
  handle: ({ body = {}, ...scope }) => {
    const { snapshots } = requireServedWorld(scope)
    const name = body.name ?? freeName(snapshots)
    assertCanAdd(snapshots, name)
    const snapshot = scope.sim.snapshot()
    snapshots.set(name, snapshot)
    return toSnapshotView(name, snapshot)
  },
})

export const listSnapshots = control({
  route: 'GET /_sim/snapshots',
  summary: 'List the snapshots of the world, oldest first',
  returns: z.array(SnapshotView),
  handle: scope =>
    Array.from(requireServedWorld(scope).snapshots, ([name, snapshot]) => toSnapshotView(name, snapshot)),
})

export const restoreSnapshot = control({
  route: 'POST /_sim/snapshots/{snapshot}/restore',
  summary:
    'Continue from a snapshot, exactly as the world did then. The journal becomes empty, and `reset` still returns ' +
    'to the start of the world. If the snapshot follows fake timers, which a server does not have, the present clock ' +
    'stays',
  example: { target: '/_sim/snapshots/before-the-storm/restore' },
  refusals: { 404: UNKNOWN_SNAPSHOT },
  returns: z.object({ now: z.string(), digest: z.string(), clock: ClockModeSchema }),
  handle: async ({ params, ...scope }) => {
    const { sim } = scope
    const snapshot = findSnapshot(scope, params.snapshot)
    await refuseInvalid(() => sim.restore(snapshot.forServer(sim.clock.setting)))
    return { now: sim.clock.iso, digest: sim.digest, clock: clockModeOf(sim) }
  },
})

export const deleteSnapshot = control({
  route: 'DELETE /_sim/snapshots/{snapshot}',
  summary: 'Delete a snapshot',
  example: { target: '/_sim/snapshots/before-the-storm' },
  refusals: { 404: UNKNOWN_SNAPSHOT },
  returns: z.object({ snapshot: z.string() }),
  handle: ({ params, ...scope }) => {
    findSnapshot(scope, params.snapshot)
    requireServedWorld(scope).snapshots.delete(params.snapshot)
    return { snapshot: params.snapshot }
  },
})

export const exportSnapshot = control({
  route: 'GET /_sim/snapshots/{snapshot}/export',
  summary:
    'Return a snapshot as bytes with a checksum, for another server, `--fixtures` or `loadSnapshot`. They include ' +
    'the tokens of the world',
  example: { target: '/_sim/snapshots/before-the-storm/export' },
  refusals: { 404: UNKNOWN_SNAPSHOT },
  returns: z.string(),
  produces: 'application/octet-stream',
  handle: ({ params, ...scope }) => new Bytes([findSnapshot(scope, params.snapshot).toBytes()]),
})

export const importSnapshot = control({
  route: 'POST /_sim/snapshots/{snapshot}/import',
  summary: 'Add an exported or saved snapshot under a name. It does not restore the snapshot',
  refusals: {
    400: 'bytes that are not a snapshot, are damaged or truncated, are of another version, or need own endpoints',
    409: 'a duplicate name',
    413: 'more than 256 MiB',
    429: 'too many snapshots in this world',
  },
  params: { snapshot: Name },
  example: { target: '/_sim/snapshots/from-elsewhere/import' },
  upload: {
    fields: {},
    limit: () => ({
      bytes: LIMITS.snapshotBytes,
      refusal: `Failed to import: a snapshot has at most ${LIMITS.snapshotBytes} bytes`,
    }),
  },
  returns: SnapshotView,
  handle: async ({ params: { snapshot: name }, upload, ...scope }) => {
    const { snapshots } = requireServedWorld(scope)
    assertCanAdd(snapshots, name)
    const { chunks, filename } = upload.file
    const imported = await refuseInvalid(() => Snapshot.from(concatBytes(chunks), `the snapshot '${filename || name}'`))
    await refuseInvalid(() => conflicts.assertEndpoints(imported, scope.sim.options))
    snapshots.set(name, imported)
    return toSnapshotView(name, imported)
  },
})

function requireServedWorld({ sim, worlds }: ControlScope): ServedWorld {
  return (
    worlds.findBySimulator(sim) ??
    refuse(404, 'Failed to find the world: it was deleted during the request. POST /_sim/worlds creates one.')
  )
}

function findSnapshot(scope: ControlScope, name: string): Snapshot {
  return requireSnapshot(requireServedWorld(scope), name)
}

function assertCanAdd(snapshots: ReadonlyMap<string, Snapshot>, name: string): void {
  if (snapshots.has(name)) {
    refuse(
      409,
      `Failed to add the snapshot '${name}': duplicate name. Delete the other snapshot, or give another name.`,
    )
  }
  if (snapshots.size < LIMITS.snapshots) return
  refuse(
    429,
    `Failed to add the snapshot '${name}': the world has ${LIMITS.snapshots} snapshots, which is the limit. Delete one.`,
  )
}

function freeName(snapshots: ReadonlyMap<string, Snapshot>): string {
  let nth = snapshots.size + 1
  while (snapshots.has(`snapshot-${nth}`)) nth++
  return `snapshot-${nth}`
}

function toSnapshotView(
  name: string,
  { now, digest, seed, fixtures, profile, version }: Snapshot,
): z.input<typeof SnapshotView> {
  return { snapshot: name, now, digest, seed, fixtures, profile, version }
}
