import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { pass, stage } from './small-world.ts'

const group = (about: object) => ({
  nodes: {
    pools: [
      {
        name: 'extra',
        zone: 'zone-b',
        nodes: [{ prefix: 'x', gpu: 'H100-80GB', gpus_per_node: 8, count: 2, ...about }],
      },
    ],
  },
})
const lora = (base_model: string, status = 'running') => ({
  model_name: 'acme/tone',
  type: 'lora',
  status,
  base_model,
  source: { type: 'modelhub', modelhub_url: 'https://hub.example/tone' },
})
const base = (status: string, about = {}) => ({
  model_name: 'acme/base',
  status,
  weights: { repo: 'acme/chat-8b' },
  ...about,
})

describe('a fixture that makes no sense is refused, with its place and what to do', () => {
  const place = 'with.nodes: $.pools[0].nodes[0]'
  test.each<[string, object, string]>([
    [
      'less at most than at least',
      group({ min: 3, max: 1 }),
      `${place}.max: expected at least min, 3, got 1. Fix that value.`,
    ],
    [
      'fewer nodes than at least',
      group({ min: 3, max: 4 }),
      `${place}.count: expected at least min, 3, got 2. Fix that value.`,
    ],
    ['more nodes than at most', group({ max: 1 }), `${place}.count: expected at most max, 1, got 2. Fix that value.`],
    ['fewer than no nodes', group({ count: -1 }), `${place}.count: expected at least 0, got -1.`],
    [
      'an invalid address',
      {
        api_tokens: [
          { name: 'x', token: 'tok_x', token_id: 'id_x', created_at: 0, allowed_ips: ['10.0.0.1', '10.0.0/8'] },
        ],
      },
      "with.api_tokens: $[0].allowed_ips[1]: expected an address or a range like '203.0.113.7' or '203.0.113.0/24', got '10.0.0/8'.",
    ],
    [
      'an adapter on nothing',
      { deployments: [lora('acme/unknown')] },
      "with.deployments: $[0].base_model: expected a model of models.json or a deployment, got 'acme/unknown'.",
    ],
    [
      'an adapter on another',
      { deployments: [lora('aurora-labs/aurora-8b-instruct'), { ...lora('acme/tone'), model_name: 'acme/other' }] },
      "with.deployments: $[1].base_model: expected a model of models.json or a deployment, got 'acme/tone'.",
    ],
    [
      'an adapter on what is deleted',
      { deployments: [base('deleted'), lora('acme/base')] },
      "with.deployments: $[1].base_model: 'acme/base' is deleted, so it cannot be the base of a lora that is running. Fix that value.",
    ],
    [
      'an adapter that runs on what does not',
      { deployments: [base('deploying'), lora('acme/base')] },
      "with.deployments: $[1].status: its base 'acme/base' is deploying, so it cannot be running. Fix that value.",
    ],
    [
      'an adapter that starts on what has stopped',
      { deployments: [base('stopped'), lora('acme/base', 'initializing')] },
      "with.deployments: $[1].status: its base 'acme/base' is stopped, so it cannot be initializing. Fix that value.",
    ],
  ])('%s', (_, patch, message) => {
    const options = { fixtures: 'empty', with: patch } as SimulatorOptions
    expect(() => createSimulator(options)).toThrow(message)
  })

  test('a stopped adapter may stand on what has stopped', () => {
    expect(() =>
      stage([{}], {}, { with: { deployments: [base('stopped'), lora('acme/base', 'stopped')] as never } }),
    ).not.toThrow()
  })
})

describe('a trace of load in a fixture of files', () => {
  function folder(trace: string | undefined, load: object = {}): string {
    const path = temporaryFolder()
    cpSync('fixtures/worlds/empty', path, { recursive: true })
    const deployments = [base('running', { load: { kind: 'trace', path: 'traffic.csv', ...load } })]
    writeFileSync(join(path, 'deployments.json'), JSON.stringify(deployments))
    if (trace !== undefined) writeFileSync(join(path, 'traffic.csv'), trace)
    return path
  }

  test('is read from the folder', () => {
    const sim = createSimulator({ fixtures: folder('seconds,rps\n0,5\n60,0\n') })
    pass(sim, '1h')
    const { served } = sim.world.autoscaler.wholeRequests(sim.world.deployments.read(0))
    expect(served).toBe(300)
  })

  test.each<[string, string | undefined, object, string]>([
    [
      'missing',
      undefined,
      {},
      "deployments.json: $[0].load.path: the file 'traffic.csv' is missing below the fixture's folder.",
    ],
    [
      'outside',
      undefined,
      { path: '../x.csv' },
      "deployments.json: $[0].load.path: the file '../x.csv' is missing below",
    ],
    ['empty', '', {}, "traffic.csv: line 1: the trace is empty. Add lines of 'seconds,requests/s'."],
  ])('%s is refused', (_, trace, load, message) => {
    const path = folder(trace, load)
    expect(() => createSimulator({ fixtures: path })).toThrow(message)
    expect(readFileSync(join(path, 'account.json'), 'utf8')).toContain('display_name')
  })
})
