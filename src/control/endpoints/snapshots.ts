import * as z from 'zod'
import { Bytes, refuse } from '../../service/endpoint.ts'
import { concatBytes } from '../../simulator/snapshot/codec/bytes.ts'
import { Snapshot } from '../../simulator/snapshot/snapshot.ts'
import type { ServedWorld } from '../../simulator/worlds.ts'
import { ClockModeSchema, clockModeOf } from '../clock-view.ts'
import { CONTROL_PROVENANCE, type ControlScope, control, refuseInvalid } from '../endpoint.ts'
import { requireSnapshot } from '../named-snapshots.ts'

/** Snapshots that a world keeps at most: each holds on to what has changed since. */
const MAX_SNAPSHOTS = 100
/** Bytes of a snapshot that is imported. */
const MAX_SNAPSHOT_BYTES = 256 * 1_048_576

const Name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'should be 1 to 64 small letters, digits and dashes, the first no dash')

const SnapshotView = z.object({
  snapshot: z.string().describe('Its name'),
  now: z.string().describe('The time of the world in it'),
  digest: z.string(),
  seed: z.string(),
  fixtures: z.string(),
  profile: z.string(),
  version: z.string().describe('Of the modelhost-sim that it was taken with'),
})

const UNKNOWN_SNAPSHOT = 'the world keeps no snapshot of that name'

export const takeSnapshot = control({
  ...CONTROL_PROVENANCE,
  route: 'POST /_sim/snapshots',
  summary:
    'Keep the world as it is now under a name, snapshot-1 and so on unless given: everything in it, the rules of faults, ' +
    'the scenarios that play, and its clock',
  example: { body: { name: 'before-the-storm' } },
  refusals: { 409: 'the name is taken', 429: 'the world keeps as many as it may' },
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
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/snapshots',
  summary: 'The snapshots that the world keeps, in the order in which they came',
  returns: z.array(SnapshotView),
  handle: scope =>
    Array.from(requireServedWorld(scope).snapshots, ([name, snapshot]) => toSnapshotView(name, snapshot)),
})

export const restoreSnapshot = control({
  ...CONTROL_PROVENANCE,
  route: 'POST /_sim/snapshots/{snapshot}/restore',
  summary:
    'Go on from a snapshot exactly as the world did then, as often as you like; the journal begins anew, and reset still ' +
    'comes back to where the world began. Where it follows fake timers, which a server has not, time moves on as before',
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
  ...CONTROL_PROVENANCE,
  route: 'DELETE /_sim/snapshots/{snapshot}',
  summary: 'Keep a snapshot no longer',
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
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/snapshots/{snapshot}/export',
  summary:
    'The bytes of a snapshot, checksummed, for another server, --fixtures or loadSnapshot; they hold the tokens of the world',
  example: { target: '/_sim/snapshots/before-the-storm/export' },
  refusals: { 404: UNKNOWN_SNAPSHOT },
  returns: z.string(),
  produces: 'application/octet-stream',
  handle: ({ params, ...scope }) => new Bytes([findSnapshot(scope, params.snapshot).toBytes()]),
})

export const importSnapshot = control({
  ...CONTROL_PROVENANCE,
  route: 'POST /_sim/snapshots/{snapshot}/import',
  summary: 'Keep a snapshot that was exported or saved, here or elsewhere, under a name; restoring it is another step',
  refusals: {
    400: 'bytes that are no snapshot, are damaged or cut off, or were written by another version',
    409: 'the name is taken',
    413: 'more than 256 MiB',
    429: 'the world keeps as many as it may',
  },
  params: { snapshot: Name },
  example: { target: '/_sim/snapshots/from-elsewhere/import' },
  upload: {
    fields: {},
    limit: () => ({
      bytes: MAX_SNAPSHOT_BYTES,
      refusal: `Failed to import: a snapshot may have ${MAX_SNAPSHOT_BYTES} bytes`,
    }),
  },
  returns: SnapshotView,
  handle: async ({ params: { snapshot: name }, upload, ...scope }) => {
    const { snapshots } = requireServedWorld(scope)
    assertCanAdd(snapshots, name)
    const { chunks, filename } = upload.file
    const imported = await refuseInvalid(() => Snapshot.from(concatBytes(chunks), `the snapshot '${filename || name}'`))
    snapshots.set(name, imported)
    return toSnapshotView(name, imported)
  },
})

function requireServedWorld({ sim, worlds }: ControlScope): ServedWorld {
  return (
    worlds.findBySimulator(sim) ??
    refuse(404, 'Failed to find the world: it was deleted meanwhile. POST /_sim/worlds makes one.')
  )
}

function findSnapshot(scope: ControlScope, name: string): Snapshot {
  return requireSnapshot(requireServedWorld(scope), name)
}

function assertCanAdd(snapshots: ReadonlyMap<string, Snapshot>, name: string): void {
  if (snapshots.has(name)) {
    refuse(409, `Failed to keep the snapshot '${name}': there is one of that name. Delete it, or give another name.`)
  }
  if (snapshots.size < MAX_SNAPSHOTS) return
  refuse(
    429,
    `Failed to keep the snapshot '${name}': the world keeps ${MAX_SNAPSHOTS}, which is its limit. Delete one.`,
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
