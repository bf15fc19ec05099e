import { describe, expect, test } from 'vitest'
import { Accrual } from '../../../src/simulation/account/accrual.ts'
import type { MeterRow } from '../../../src/simulation/account/ledger-types.ts'
import type { PostingLog } from '../../../src/simulation/account/posting-log.ts'
import type { BatchRow } from '../../../src/simulation/batches/batch-row.ts'
import type { InferenceRow } from '../../../src/simulation/inference/request-row.ts'
import { findViolations } from '../../../src/simulation/invariants/check-world.ts'
import { InvariantError, type InvariantName } from '../../../src/simulation/invariants/invariant.ts'
import type { RentalRow } from '../../../src/simulation/rentals/rental-row.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { chats } from '../../../tools/sweep/play.ts'
import { sendTo } from '../../setup/send-to.ts'
import { pass, passUntil, spec, stage } from '../small-world.ts'
import { perform } from './actions.ts'

type TestedWorld = Simulator & { readonly ordinal: number; readonly instances: readonly number[] }

/** A world with a running deployment of two instances, a hosted instance, a container, an adapter and load. */
function world(): TestedWorld {
  const sim = stage(
    [{}, { gpu: 'L4-24GB', gpus: 4 }],
    {},
    {
      with: {
        deployments: [
          {
            model_name: 'acme/busy',
            gpu: 'L4-24GB',
            max_batch_size: 16,
            weights: { repo: 'acme/chat-8b' },
            settings: { min_instances: 1, max_instances: 2 },
            load: { kind: 'constant', rps: 500 },
          },
        ],
        hosted: [{ instance_id: 'box', name: 'box', plan_id: 'small', storage_gb: 100, created_at: 0 }],
        containers: [
          {
            container_id: 'crate',
            name: 'crate',
            gpu_config: '1xL4-24GB',
            container_image: 'registry.example/dev:1',
            created_at: 0,
          },
        ],
      },
    },
  )
  const { ordinal } = sim.world.deployments.createLlm(spec({ min_instances: 2, max_instances: 2 }))
  pass(sim, '1h')
  const { instances } = sim.world.deployments.read(ordinal)
  return Object.assign(sim, { ordinal, instances })
}

/** The laws that are named after harm was done; what time brings afterwards is not part of it. */
function named(sim: Simulator, harm: () => void): InvariantName[] {
  try {
    harm()
    sim.world.runTo(sim.world.clock.now)
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error
    return error.violations.map(({ invariant: law }) => law)
  }
  return []
}

const busy = (sim: Simulator) => sim.world.deployments.findLive('acme/busy')!.ordinal

/** The container, as it is and to be harmed. */
function rented({ world: { rentals } }: Simulator) {
  const [ordinal, { meter, gpus }] = [...rentals.entries()].find(([, { kind }]) => kind === 'container')!
  return { ordinal, meter, gpus, own: () => rentals.writable(ordinal) }
}

/** Harms that break one law, by the law and what is done. */
const HARMS_OF_ONE_LAW: Readonly<Record<string, (sim: TestedWorld) => void>> = {
  'I2 a GPU is broken and its instance stays': sim => {
    const node = sim.world.nodes.ordinalOf('node0-0')!
    sim.world.nodes.writable(node).broken = sim.world.instances.read(sim.instances[0]!).gpus
    sim.world.nodes.updateFreeGpus(node)
  },
  'I5 a deployment counts an instance that it does not have': sim => {
    sim.world.deployments.writable(sim.ordinal).ready++
  },
  'I5 a deployment is reported with a wrong status': sim => {
    sim.world.deployments.toJson(sim.ordinal)
    const row = sim.world.deployments.writable(sim.ordinal)
    row.maxInstances = 5
    row.updatedAt = sim.world.clock.now
  },
  'I6 a rental has failed without a reason': sim => {
    const { ordinal, own } = rented(sim)
    sim.world.rentals.lose([ordinal], { cause: 'node_crash', reason: 'its node crashed' })
    own().failReason = ''
  },
  'I6 a status takes an edge that there is not': sim => {
    const row = sim.world.deployments.writable(sim.ordinal)
    row.status = 'downloading'
    row.updatedAt = sim.world.clock.now
    sim.world.deployments.onVisibleChange(sim.ordinal)
  },
  'I7 updated_at goes back': sim => {
    sim.world.deployments.writable(sim.ordinal).updatedAt -= 1
  },
  'I9 an instance runs without a meter': sim => {
    sim.world.ledger.setUnits(sim.world.deployments.read(sim.ordinal).meter, 1)
    sim.world.deployments.writable(sim.ordinal)
  },
  'I9 a rental runs and is not billed': sim => {
    const { meter, own } = rented(sim)
    sim.world.ledger.setUnits(meter, 0)
    own()
  },
  'I12 free GPUs count against the quota': sim => {
    sim.world.gpuQuotas.acquire('H100-80GB', 1)
    sim.world.deployments.writable(sim.ordinal)
  },
  'I14 what is gone is billed on': sim => {
    const { meter } = sim.world.deployments.read(sim.ordinal)
    sim.world.deployments.stop(sim.ordinal)
    pass(sim, '1m')
    sim.world.ledger.setUnits(meter, 1)
    sim.world.deployments.writable(sim.ordinal)
  },
  'I15 a refused request changes something': sim => {
    const entry = sim.world.openRequest('setTopup', 'POST', '/payment/topup')
    sim.world.ledger.setTopupRule({ amount: 1, threshold: 1, enabled: false })
    sim.world.closeRequest(entry, 400)
  },
  'I20 a request is dropped without a word': sim => {
    const { flow } = sim.world.deployments.writable(busy(sim))
    expect(flow.arrived).toBeGreaterThan(0)
    flow.backlog--
  },
  'I20 requests that were offered never arrive': sim => {
    sim.world.autoscaler.updateFlow(busy(sim))
    pass(sim, '1s')
    sim.world.deployments.writable(busy(sim)).flowAt += 1_000_000
  },
  'I18 storage shrinks': sim => {
    const { rentals } = sim.world
    ;(rentals.findById('box') as RentalRow).storageGb = 99
    rentals.rename(rentals.ordinalOf('box')!, 'other')
  },
}

/** Harms that break other laws, too. */
const HARMS_OF_SEVERAL_LAWS: typeof HARMS_OF_ONE_LAW = {
  'I1 a rental sits on a GPU that it was not given': sim => {
    const { gpus, own } = rented(sim)
    own().gpus = gpus << 1
  },
  'I3 an instance has a GPU too many': sim => {
    sim.world.instances.writable(sim.instances[0]!).gpus |= 128
  },
  'I9 an interval is charged twice': sim => {
    for (const [, row] of sim.world.ledger.meters.entries()) (row as MeterRow).accrued = new Accrual(1_000_000)
    sim.world.deployments.stop(sim.ordinal)
    pass(sim, '1m')
  },
  'I10 the funds are gone and the account is not suspended': sim => {
    Object.defineProperty(sim.world.ledger, 'suspensionReason', { value: undefined })
    sim.world.ledger.setPrice('H100-80GB', 1e8)
    pass(sim, '10h')
  },
  'I10 the grace never ends': sim => {
    Object.defineProperty(sim.world.ledger.suspension, 'isCutOff', { value: false })
    sim.world.ledger.suspension.impose('admin')
    pass(sim, '1h')
  },
  'I11 a top-up is charged that is switched off': sim => {
    const { postings } = sim.world.ledger.totals
    ;(postings as PostingLog).push(sim.world.clock.now, 'topup', 'acct_test', 1)
    sim.world.deployments.writable(sim.ordinal)
  },
  'I12 an instance is admitted over the limit': sim => {
    sim.world.gpuQuotas.set('H100-80GB', 2)
    sim.world.deployments.writable(sim.ordinal).maxInstances = 3
    sim.world.instances.request(sim.ordinal, 0)
  },
  'I14 a deployment is stopped and keeps its instances': sim => {
    sim.world.deployments.setStatus(sim.ordinal, 'stopped')
  },
}

const lawOf = (title: string) => title.split(' ', 1)[0] as InvariantName

describe('a law that is broken on purpose is named:', () => {
  test.each(Object.entries(HARMS_OF_ONE_LAW))('%s', (title, harm) => {
    const sim = world()
    expect(named(sim, () => harm(sim))).toEqual([lawOf(title)])
  })

  test.each(Object.entries(HARMS_OF_SEVERAL_LAWS))('%s', (title, harm) => {
    const sim = world()
    expect(named(sim, () => harm(sim))).toContain(lawOf(title))
  })

  test('I1 a GPU is given to two instances', () => {
    const sim = world()
    const [one, other] = sim.instances as [number, number]
    const broken = named(sim, () => {
      sim.world.instances.writable(one).gpus = sim.world.instances.read(other).gpus
    })
    expect(broken).toContain('I1')
    expect(findViolations(sim.world).map(({ invariant: law }) => law)).toContain('I1')
  })

  test('I2 a node is down and its instances stay', () => {
    const sim = world()
    expect(
      named(sim, () => {
        sim.world.nodes.writable(sim.world.nodes.ordinalOf('node0-0')!).state = 'down'
        sim.world.nodes.updateFreeGpus(sim.world.nodes.ordinalOf('node0-0')!)
      }),
    ).toEqual(['I2', 'I2'])
  })

  test('I4 an instance is ready whose weights do not fit', () => {
    const sim = stage()
    const { ordinal } = sim.world.deployments.createLlm(spec({ repo: 'acme/large-405b' }))
    passUntil(sim, () => sim.world.deployments.read(ordinal).starting === 1)
    const [instance] = sim.world.deployments.read(ordinal).instances
    expect(
      named(sim, () => {
        sim.world.deployments.countMove(ordinal, 'loading', 'ready')
        sim.world.instances.writable(instance!).state = 'ready'
      }),
    ).toContain('I4')
  })

  test('I8 the clock goes back', () => {
    const sim = world()
    const { now } = sim.world.clock
    const broken = named(sim, () => {
      Object.defineProperty(sim.world.clock, 'now', { value: now - 3_600_000_000 })
      sim.world.deployments.writable(sim.ordinal)
    })
    expect(broken[0]).toBe('I8')
  })

  test('I9 a posting is written without a cause', () => {
    const sim = world()
    const { postings } = sim.world.ledger.totals
    const broken = named(sim, () => {
      ;(postings as PostingLog).push(sim.world.clock.now, 'funds', 'acct_test', 1)
      sim.world.deployments.writable(sim.ordinal)
    })
    expect(broken).toEqual(['I9'])
    expect(findViolations(sim.world).map(({ invariant: law }) => law)).toContain('I9')
  })

  test('I13 a line of a batch is lost', async () => {
    const sim = world()
    const row = await batch(sim, 20)
    await sim.clock.until(() => sim.world.batches.get(row.id)!.status === 'finalizing')
    const { pendingOutput } = row
    const broken = named(sim, () => {
      const chunk = pendingOutput!.output.chunks[0]!
      const half = chunk.slice(0, chunk.indexOf(10) + 1)
      row.pendingOutput = { ...pendingOutput!, output: { ...pendingOutput!.output, chunks: [half] } }
      sim.world.runTo(sim.world.clock.now + 3_600_000_000)
    })
    expect(broken).toContain('I13')
  })

  test('I13 a batch is charged once more for what it has paid for', { tags: 'slow' }, async () => {
    const sim = world()
    const row = await batch(sim, 2000)
    await sim.clock.until(() => row.doneLines > 500)
    const broken = named(sim, () => {
      sim.world.ledger.chargeTokens(row.id, row.chargedMicrocents)
      sim.world.runTo(sim.world.clock.now + 600_000_000)
    })
    expect(broken).toContain('I13')
  })

  test('I17 an adapter in use is given up, or one too many is taken', async () => {
    const sim = world()
    expect(await perform(sim, { do: 'adapter', name: 'tone', base: 'acme/chat' })).toBe(200)
    await sim.clock.advance('10m')
    const adapter = sim.world.deployments.findLive('acme/tone')!.ordinal
    const [instance] = sim.instances
    const resident = (users: number) => ({ adapter, usedAt: 0, users, loadEvent: 0 })
    expect(
      named(sim, () => {
        sim.world.instances.writable(instance!).adapters = [resident(1)]
        sim.world.deployments.writable(adapter).activeUses = 1
      }),
    ).toEqual([])
    expect(
      named(sim, () => {
        sim.world.instances.writable(instance!).adapters = []
      }),
    ).toEqual(['I17'])
    const slots = sim.world.profile.timings.adapterSlots
    expect(
      named(sim, () => {
        sim.world.instances.writable(instance!).adapters = Array.from({ length: slots + 1 }, () => resident(0))
      }),
    ).toContain('I17')
  })

  test('I14 a rental is deleted, holds its GPUs and is billed', () => {
    const sim = world()
    const broken = named(sim, () => {
      rented(sim).own().state = 'deleted'
    })
    expect(broken).toEqual(expect.arrayContaining(['I6', 'I12', 'I14']))
  })

  describe('of requests for answers', () => {
    /** Requests of clients, one of which waits where there are more than places. */
    const asked = (more: number) => {
      const sim = world()
      const places =
        sim.world.inferenceRequests.maxConcurrencyOf(sim.world.deployments.read(sim.ordinal)) * sim.instances.length
      const ask = (clients: number) => chats(sim.world, { model: 'acme/chat', clients, left: 0, tokens: 1000 })
      expect(named(sim, () => ask(more < 0 ? 1 : places + more))).toEqual([])
      const rows = () => [...sim.world.inferenceRequests.entries()] as [number, InferenceRow][]
      const heard = (change: Partial<InferenceRow>, at: (row: InferenceRow) => boolean = () => true) => {
        const [ordinal, row] = rows().find(([, one]) => at(one))!
        return named(sim, () => sim.world.generation.observer!.onWrite(Object.assign(row, change), ordinal))
      }
      return { sim, rows, heard }
    }

    test('I21 an instance answers more than it has places', () => {
      const { sim, heard } = asked(1)
      const begun = { instance: sim.instances[0]!, startedAt: sim.world.clock.now }
      expect(heard(begun, ({ startedAt }) => startedAt < 0)).toContain('I21')
    })

    test('I21 a place is held by no request', () => {
      const { sim, rows } = asked(-1)
      const [ordinal, row] = rows()[0]!
      expect(named(sim, () => sim.world.generation.observer!.onRemove(row, ordinal))).toContain('I21')
    })

    test('I21 a request waits beside a free place', () => {
      expect(asked(-1).heard({ instance: -1, startedAt: -1, next: 0 })).toContain('I21')
    })

    test('I21 an answer never ends', () => {
      expect(asked(-1).heard({ next: 0 })).toEqual(['I21'])
    })
  })
})

describe('a broken invariant is reported', () => {
  test('with its number, the event, the story of the thing, seed, time and how to see it again', () => {
    const sim = world()
    const node = sim.world.nodes.ordinalOf('node0-0')!
    sim.cluster.node('node0-0').cordon()
    let message = ''
    try {
      sim.world.nodes.writable(node).allocated = 0
      sim.cluster.node('node0-0').uncordon()
    } catch (error) {
      message = String(error)
    }
    const [first, ...rest] = message.split('\n')
    expect(first).toMatch(
      /^InvariantError: Failed to keep invariant I1 \(.+\): node node0-0 counts 0 GPUs as taken, 2 are\.$/,
    )
    expect(rest.join('\n')).toContain('Seen after command node.uncordon of node0-0, at 2026-01-01T01:00:00')
    expect(rest.join('\n')).toContain('seed "1"')
    expect(rest.join('\n')).toContain("advanceTo('2026-01-01T01:00:00")
    expect(rest.join('\n')).toMatch(/node\.cordoned node0-0\n +3600\.\d+ node\.uncordoned node0-0/)
  })

  test('once: what is broken then counts as it is, so that a server goes on', () => {
    const sim = world()
    const harm = () => {
      sim.world.gpuQuotas.acquire('H100-80GB', 1)
      sim.world.deployments.writable(busy(sim))
    }
    expect(named(sim, harm)).toEqual(['I12'])
    expect(() => pass(sim, '0s')).toThrow(/I12/)
  })

  test('to a client as a 500 with x-sim-error, and to onBug', async () => {
    const heard: string[] = []
    const sim = stage([{}], {}, { onBug: error => heard.push(String(error)) })
    const { ordinal } = sim.world.deployments.createLlm(spec())
    sim.world.deployments.writable(ordinal).waiting++
    const answer = await sendTo(sim, 'GET /deploy/list')
    expect(answer.status).toBe(500)
    expect(answer.headers.get('x-sim-error')).toMatch(/Failed to keep invariant I5/)
    expect(heard).toHaveLength(1)
    const next = await sendTo(sim, 'GET /v1/voices')
    expect(next.status).toBe(200)
  })

  test('by a fork and after a reset as well', () => {
    const sim = world()
    const fork = sim.world.fork()
    expect(() => {
      fork.deployments.writable(sim.ordinal).ready++
      fork.runTo(fork.clock.now)
    }).toThrow(InvariantError)
    sim.reset()
    expect(() => {
      sim.world.gpuQuotas.acquire('H100-80GB', 1)
      sim.world.deployments.writable(busy(sim))
      sim.world.runTo(0)
    }).toThrow(InvariantError)
  })
})

async function batch(sim: Simulator, lines: number): Promise<BatchRow> {
  const model = 'aurora-labs/aurora-8b-instruct'
  expect(await perform(sim, { do: 'batch', lines, model, broken: false })).toBe(200)
  await sim.clock.advance('5s')
  const [, row] = [...sim.world.batches.entries()][0]!
  return row as BatchRow
}
