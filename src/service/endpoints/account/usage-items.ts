import type * as z from 'zod'
import { MICROCENTS_PER_CENT } from '../../../simulation/account/money.ts'
import type { UsageItem } from '../../../simulation/reporting/monthly-usage.ts'
import type { World } from '../../../simulation/world.ts'
import type { UsageByMonth } from './records.ts'

type UsageRecord = z.input<typeof UsageByMonth>['months'][number]['items'][number]

/** Returns the record of one item of usage, with whole cents. */
export function toUsageItem(world: World, item: UsageItem): Omit<UsageRecord, 'interval'> {
  const { type, pricingType, id, name, units, microcents } = item
  return {
    model: {
      provider: type === 'rent' && !name.includes('/') ? world.store.account.display_name : name.split('/')[0]!,
      model_name: name,
      task: taskOf(world, item),
      plan_id: world.hostedInstances.get(id)?.plan_id ?? null,
      private: type === 'rent' || world.modelVersions.get(id) !== undefined,
    },
    units: Math.floor(units),
    // Eight digits hide that the cost is rounded down to a micro-cent.
    rate: units === 0 ? 0 : Number((microcents / MICROCENTS_PER_CENT / units).toPrecision(8)),
    cost: Math.floor(microcents / MICROCENTS_PER_CENT),
    pricing_type: pricingType,
    discount: null,
  }
}

function taskOf(world: World, { type, id }: UsageItem): string {
  if (type === 'requests') return world.store.models.get(id)?.type ?? 'text-generation'
  if (world.hostedInstances.get(id)) return 'hosted-instance'
  if (world.containers.get(id)) return 'container'
  return world.deployments.get(id)?.toRecord().task ?? 'text-generation'
}
