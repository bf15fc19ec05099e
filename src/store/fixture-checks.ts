/** What no single record can say of itself: that records agree with each other and with the world's epoch. */
import { nearest } from '../kernel/nearest.ts'
import { shown } from './problems.ts'
import type { CatalogModel, DeploymentSeed, Fixture } from './records.ts'

/** Takes one problem: the fixture's key, the path below it, and what to do. */
export type Complain = (key: keyof Fixture, path: readonly PropertyKey[], text: string) => void

const OVER: ReadonlySet<DeploymentSeed['status']> = new Set(['stopped', 'failed', 'deleted'])

/** Holds the records of a fixture against each other. */
export function checkFixture(fixture: Fixture, complain: Complain): void {
  checkKeys(fixture, complain)
  checkCatalog(fixture, complain)
  checkNodes(fixture, complain)
  checkDeployments(fixture, complain)
  checkFiles(fixture, complain)
}

/** Refuses what would have happened after the world began. `expires_at` is a deadline and may lie ahead. */
export function checkTimes(fixture: Fixture, epochMs: number, complain: Complain): void {
  const epoch = new Date(epochMs).toISOString()
  const seconds = <T extends object>(
    key: keyof Fixture,
    records: readonly T[],
    fields: readonly (keyof T & string)[],
  ) => {
    for (const [position, record] of records.entries()) {
      for (const field of fields) {
        const time = record[field]
        if (typeof time === 'number' && time * 1000 > epochMs) late(key, [position, field], time)
      }
    }
  }
  const late = (key: keyof Fixture, path: readonly PropertyKey[], time: number | string) =>
    complain(
      key,
      path,
      `expected a time not later than the world's epoch ${epoch}, got ${shown(time)}. Fix that value.`,
    )

  seconds('api_tokens', fixture.api_tokens, ['created_at'])
  seconds('models', fixture.models, ['deprecated'])
  seconds('aggregator', fixture.aggregator, ['created'])
  seconds('voices', fixture.voices, ['created_at', 'updated_at'])
  seconds('files', fixture.files, ['created_at'])
  seconds('batches', fixture.batches, ['created_at', 'in_progress_at', 'finalizing_at', 'completed_at'])
  seconds('hosted', fixture.hosted, ['created_at'])
  seconds('containers', fixture.containers, ['created_at'])
  for (const [position, { created_at, updated_at }] of fixture.deployments.entries()) {
    if (created_at !== undefined && Date.parse(created_at) > epochMs) {
      late('deployments', [position, 'created_at'], created_at)
    }
    if (updated_at !== undefined && Date.parse(updated_at) > epochMs) {
      late('deployments', [position, 'updated_at'], updated_at)
    }
  }
}

function checkKeys(fixture: Fixture, complain: Complain): void {
  const distinct = <T>(
    key: keyof Fixture,
    records: Iterable<readonly [readonly PropertyKey[], T]>,
    field: string,
    takenFrom: (record: T) => string | undefined,
  ) => {
    const seen = new Set<string>()
    for (const [path, record] of records) {
      const value = takenFrom(record)
      if (value === undefined) continue
      if (seen.has(value))
        complain(key, [...path, field], `'${value}' is taken by another record. Give it another value.`)
      seen.add(value)
    }
  }
  distinct('api_tokens', placed(fixture.api_tokens), 'token', token => token.token)
  distinct('api_tokens', placed(fixture.api_tokens), 'token_id', token => token.token_id)
  distinct('api_tokens', placed(fixture.api_tokens), 'name', token => token.name)
  distinct('models', placed(fixture.models), 'model_name', model => model.model_name)
  distinct('hardware', placed(fixture.hardware), 'model_name', entry => entry.model_name)
  distinct('schemas', placed(fixture.schemas), 'variant', schema => `${schema.type} ${schema.variant}`)
  distinct('aggregator', placed(fixture.aggregator), 'id', entry => entry.id)
  distinct('hub', placed(fixture.hub.repositories, 'repositories'), 'repo', repository => repository.repo)
  distinct('voices', placed(fixture.voices), 'voice_id', voice => voice.voice_id)
  distinct('nodes', placed(fixture.nodes.pools, 'pools'), 'name', pool => pool.name)
  distinct('nodes', nodeGroups(fixture), 'prefix', group => group.prefix)
  distinct('deployments', placed(fixture.deployments), 'deploy_id', seed => seed.deploy_id)
  distinct('deployments', placed(fixture.deployments), 'model_name', seed =>
    seed.status === 'deleted' ? undefined : seed.model_name,
  )
  distinct('files', placed(fixture.files), 'id', file => file.id)
  distinct('batches', placed(fixture.batches), 'id', batch => batch.id)
  distinct('hosted', placed(fixture.hosted), 'instance_id', instance => instance.instance_id)
  distinct('containers', placed(fixture.containers), 'container_id', container => container.container_id)
}

function* placed<T>(records: readonly T[], ...prefix: string[]): Generator<readonly [readonly PropertyKey[], T]> {
  for (const [position, record] of records.entries()) yield [[...prefix, position], record]
}

function* nodeGroups(fixture: Fixture) {
  for (const [pool, { nodes }] of fixture.nodes.pools.entries()) {
    for (const [group, record] of nodes.entries()) yield [['pools', pool, 'nodes', group], record] as const
  }
}

function checkCatalog(fixture: Fixture, complain: Complain): void {
  const models = new Set(fixture.models.map(model => model.model_name))
  const withHardware = new Set(fixture.hardware.map(entry => entry.model_name))
  for (const [position, { model_name, replaced_by }] of fixture.models.entries()) {
    if (replaced_by !== null && !models.has(replaced_by)) {
      complain('models', [position, 'replaced_by'], notOneOf('a model of models.json', replaced_by, models))
    }
    if (!withHardware.has(model_name)) {
      complain('models', [position, 'model_name'], `'${model_name}' has no entry in hardware.json. Add one.`)
    }
  }
  for (const [position, { model_name }] of fixture.hardware.entries()) {
    if (!models.has(model_name)) {
      complain('hardware', [position, 'model_name'], notOneOf('a model of models.json', model_name, models))
    }
  }
}

function checkNodes(fixture: Fixture, complain: Complain): void {
  for (const [path, { occupied, gpus_per_node, count, min, max }] of nodeGroups(fixture)) {
    const bad = (field: string, expected: string, got: number) =>
      complain('nodes', [...path, field], `expected ${expected}, got ${got}. Fix that value.`)
    if (min !== undefined && max !== undefined && min > max) bad('max', `at least min, ${min}`, max)
    else if (min !== undefined && count < min) bad('count', `at least min, ${min}`, count)
    else if (max !== undefined && count > max) bad('count', `at most max, ${max}`, count)
    if (occupied > gpus_per_node) bad('occupied', `at most gpus_per_node, ${gpus_per_node}`, occupied)
  }
}

function checkDeployments(fixture: Fixture, complain: Complain): void {
  const models = new Map(fixture.models.map(model => [model.model_name, model]))
  const known: Known = {
    owner: `${fixture.account.display_name}/`,
    models,
    bases: new Set([
      ...models.keys(),
      ...fixture.deployments.filter(({ type }) => type === 'llm').map(each => each.model_name),
    ]),
    deployed: new Map(
      fixture.deployments
        .filter(({ type, status }) => type === 'llm' && status !== 'deleted')
        .map(each => [each.model_name, each.status]),
    ),
    repositories: new Set(fixture.hub.repositories.map(repository => repository.repo)),
    refusing: fixture.hub.policy === 'refuse',
  }
  for (const [position, seed] of fixture.deployments.entries()) {
    checkDeployment(known, seed, (field, text) => complain('deployments', [position, ...field.split('.')], text))
  }
}

interface Known {
  owner: string
  models: ReadonlyMap<string, CatalogModel>
  /** Whatever an adapter may stand on. */
  bases: ReadonlySet<string>
  /** The status of each LLM deployment that is not deleted. */
  deployed: ReadonlyMap<string, DeploymentSeed['status']>
  repositories: ReadonlySet<string>
  refusing: boolean
}

function checkDeployment(known: Known, seed: DeploymentSeed, bad: (field: string, text: string) => void): void {
  const { owner, models, bases, repositories } = known
  const own = seed.model_name.startsWith(owner) && seed.model_name.length > owner.length

  if (seed.type === 'llm' || seed.type === 'lora') {
    if (!own)
      bad('model_name', `expected a name of the account's own, '${owner}…', got '${seed.model_name}'. Fix that value.`)
  } else if (!own) {
    const model = models.get(seed.model_name)
    if (model === undefined) {
      bad('model_name', notOneOf(`a model of models.json or a name like '${owner}…'`, seed.model_name, models.keys()))
    } else if (seed.version !== undefined && !model.versions.includes(seed.version)) {
      bad(
        'version',
        `expected a version of '${model.model_name}' in models.json, got ${shown(seed.version)}. Fix that value.`,
      )
    }
  }

  if (seed.settings.max_instances < seed.settings.min_instances) {
    const { min_instances, max_instances } = seed.settings
    bad(
      'settings.max_instances',
      `expected at least min_instances, ${min_instances}, got ${max_instances}. Fix that value.`,
    )
  }
  if (seed.status === 'failed' && seed.fail_reason === '') {
    bad('fail_reason', 'expected a reason for the status failed, got none. Add that field.')
  }
  if (seed.status !== 'failed' && seed.fail_reason !== '') {
    bad('fail_reason', `only the status failed has a reason, and this one is ${seed.status}. Remove that field.`)
  }
  if (seed.created_at !== undefined && seed.updated_at !== undefined) {
    if (Date.parse(seed.updated_at) < Date.parse(seed.created_at)) {
      bad('updated_at', `expected a time not before created_at, got '${seed.updated_at}'. Fix that value.`)
    }
  }

  if (seed.type === 'lora') {
    if (seed.base_model === undefined)
      bad('base_model', 'expected the model a lora adapts, got nothing. Add that field.')
    if (seed.source === undefined) bad('source', 'expected where the adapter comes from, got nothing. Add that field.')
  } else if (seed.source !== undefined) {
    bad('source', `only a lora has a source, and this is of type ${seed.type}. Remove that field.`)
  }
  if (seed.base_model === seed.model_name) {
    bad('base_model', `'${seed.base_model}' cannot be its own base. Fix that value.`)
  } else if (seed.base_model !== undefined && !bases.has(seed.base_model)) {
    bad('base_model', notOneOf('a model of models.json or a deployment', seed.base_model, bases))
  } else if (seed.type === 'lora' && seed.base_model !== undefined && !OVER.has(seed.status)) {
    const base = known.deployed.get(seed.base_model)
    if (base === undefined && !models.has(seed.base_model)) {
      bad('base_model', `'${seed.base_model}' is deleted, so nothing of it can be ${seed.status}. Fix that value.`)
    } else if (base !== undefined && (OVER.has(base) || (seed.status === 'running' && base !== 'running'))) {
      bad('status', `its base '${seed.base_model}' is ${base}, so it can not be ${seed.status}. Fix that value.`)
    }
  }
  if (seed.load?.kind === 'trace' && seed.load.text === undefined) {
    bad('load.path', "a path needs a fixture's folder. Give 'text' in its place.")
  }
  // What failed or is gone may well have asked for weights that nobody has.
  const wantsWeights = seed.type === 'llm' && seed.status !== 'failed' && seed.status !== 'deleted'
  if (wantsWeights && known.refusing) {
    if (seed.weights !== undefined && !repositories.has(seed.weights.repo)) {
      bad('weights.repo', notOneOf('a repository of hub.json, whose policy is refuse', seed.weights.repo, repositories))
    } else if (seed.weights === undefined && seed.base_model === undefined && !repositories.has(seed.model_name)) {
      bad(
        'weights',
        `expected the weights to serve: hub.json has no '${seed.model_name}' and its policy is refuse. Add that field.`,
      )
    }
  }
}

function checkFiles(fixture: Fixture, complain: Complain): void {
  const files = new Map(fixture.files.map(file => [file.id, file]))
  for (const [position, { path, content, created_at, expires_at }] of fixture.files.entries()) {
    if (content === undefined) {
      const text =
        path === undefined
          ? "expected 'path' or 'content', got neither. Add one."
          : "a path needs a fixture's folder. Give 'content' in its place."
      complain('files', [position, path === undefined ? 'content' : 'path'], text)
    }
    if (expires_at !== undefined && expires_at < created_at) {
      complain(
        'files',
        [position, 'expires_at'],
        `expected a time not before created_at, got ${expires_at}. Fix that value.`,
      )
    }
  }
  for (const [position, batch] of fixture.batches.entries()) {
    const input = files.get(batch.input_file_id)
    if (input === undefined) {
      complain(
        'batches',
        [position, 'input_file_id'],
        notOneOf('a file of files.json', batch.input_file_id, files.keys()),
      )
    } else if (input.purpose !== 'batch') {
      complain(
        'batches',
        [position, 'input_file_id'],
        `expected a file of purpose 'batch', got one of '${input.purpose}'. Fix that value.`,
      )
    }
    let before = batch.created_at
    for (const field of ['in_progress_at', 'finalizing_at', 'completed_at'] as const) {
      const time = batch[field]
      if (time === undefined) continue
      if (time < before) {
        complain(
          'batches',
          [position, field],
          `expected a time not before the steps that come first, ${before}, got ${time}. Fix that value.`,
        )
      }
      before = time
    }
  }
}

function notOneOf(what: string, got: string, candidates: Iterable<string>): string {
  const meant = nearest(got, candidates)
  return `expected ${what}, got '${got}'.${meant === undefined ? '' : ` Did you mean '${meant}'?`} Fix that value.`
}
