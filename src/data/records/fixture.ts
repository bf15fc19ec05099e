/**
 * The records that a fixture has: one zod schema a resource, which is the only definition of the JSON files.
 *
 * Wire fields keep the names and types of the interface document, so a fixture reads like an answer of the API.
 * Further fields, which no response has, are for the simulation only: sizes, placement, prices.
 */
import * as z from 'zod'
import { Account, ApiToken, SshKey, Voice } from './account.ts'
import {
  AggregatorModel,
  type CatalogModel,
  CatalogModelSeed,
  Hub,
  KNOWN_IMAGES,
  ModelHardware,
  ModelSchema,
} from './catalog.ts'
import { Fleet } from './fleet.ts'
import { PastUsageRecord } from './history.ts'
import { HostedPlan, HostedSeed, KNOWN_PLANS } from './machines.ts'
import { BatchSeed, ContainerSeed, DeploymentSeed, FileSeed } from './seeds.ts'

/**
 * A fixture as data: every file of a fixture folder, checked. Each key is a file `<key>.json`. A missing file is empty;
 * only `account` is required.
 */
export const Fixture = z.strictObject({
  account: Account,
  api_tokens: z.array(ApiToken).default([]),
  models: z.array(CatalogModelSeed).default([]),
  hardware: z.array(ModelHardware).default([]),
  schemas: z.array(ModelSchema).default([]),
  aggregator: z.array(AggregatorModel).default([]),
  hub: Hub.default({ policy: 'estimate', images: [...KNOWN_IMAGES], repositories: [] }),
  voices: z.array(Voice).default([]),
  ssh_keys: z.array(SshKey).default([]),
  nodes: Fleet.default({ pools: [] }),
  deployments: z.array(DeploymentSeed).default([]),
  files: z.array(FileSeed).default([]),
  batches: z.array(BatchSeed).default([]),
  plans: z.array(HostedPlan).default([...KNOWN_PLANS]),
  hosted: z.array(HostedSeed).default([]),
  containers: z.array(ContainerSeed).default([]),
  history: z.array(PastUsageRecord).default([]),
})
/** A loaded fixture. The loader has completed its catalog. */
export type Fixture = Omit<z.infer<typeof Fixture>, 'models'> & { models: CatalogModel[] }
/** A fixture as a user writes it: defaults may be left out. */
export type FixtureInput = z.input<typeof Fixture>

/**
 * Records that are added to a fixture. Lists are appended, also pools and repositories. The fields of `account` and the
 * hub's `policy` replace those of the fixture.
 */
export type FixturePatch = Partial<Omit<FixtureInput, 'account' | 'hub'>> & {
  account?: Partial<FixtureInput['account']>
  hub?: Partial<NonNullable<FixtureInput['hub']>>
}
