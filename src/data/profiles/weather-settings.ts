/** The settings of the weather: random failures of the fleet and of responses. */

import { NamedSections, setting } from './setting.ts'
import {
  amount,
  amountAboveZero,
  duration,
  errorCounts,
  factor,
  factorDistribution,
  portion,
  shares,
  timeDistribution,
  word,
} from './setting-kinds.ts'

/** The rates of a pack. A rate that a pack does not name is 0. */
export const packSettings = {
  node_faults_per_hour: setting(
    amount,
    'Faults of a node, per node-hour. Mean over all nodes, unreliable nodes (lemons) included.',
    0,
  ),
  degradations_per_hour: setting(amount, 'GPUs that become slow, per GPU-hour.', 0),
  disk_full_per_hour: setting(amount, 'Disks of nodes that fill up, per node-hour.', 0),
  spot_preemptions_per_hour: setting(amount, 'Preemptions of a spot node, per node-hour.', 0),
  spot_correlation: setting(
    portion,
    'Share of the preemptions that take all nodes of a pool at once. Each of the others takes one node.',
    0,
  ),
  zone_outages_per_hour: setting(amount, 'Outages of a whole zone, per zone-hour.', 0),
  stock_outs_per_hour: setting(amount, 'Stock-outs of a GPU type, per hour and type.', 0),
  hub_outages_per_hour: setting(amount, 'Outages of the hub, per hour.', 0),
  hub_throttles_per_hour: setting(amount, 'Slow-downs of the hub, per hour.', 0),
  registry_outages_per_hour: setting(amount, 'Outages of the image registry, per hour.', 0),
  autoscaler_freezes_per_hour: setting(amount, 'Freezes of the autoscaler, per hour.', 0),
  slow_provisioning_per_hour: setting(amount, 'Periods of slow provisioning of nodes that begin, per hour.', 0),
  tenant_share: setting(
    portion,
    'Share of the GPUs of a type that other customers hold, on average over a week. They take free GPUs only.',
    0,
  ),
  topup_declined: setting(portion, 'Share of top-up charges that are declined although the card is good.', 0),
  topup_delayed: setting(portion, 'Share of top-ups that are late by weather.topup_delay_lasts.', 0),
  batch_wait_shares: setting(
    shares(['none', 'short', 'long', 'day', 'forever']),
    'Shares of the waits of batches on shared capacity before their lines run. none: no wait; short, long, day: weather.batch_wait_*; forever: until the batch expires.',
    { none: 1, short: 0, long: 0, day: 0, forever: 0 },
  ),
  wire_errors: setting(portion, 'Share of requests that get 503 and have no effect.', 0),
  wire_rate_limits: setting(portion, 'Share of requests that get 429, with weather.wire_retry_after.', 0),
  wire_lost_answers: setting(
    portion,
    'Share of POST requests that take effect and whose connection breaks before the response.',
    0,
  ),
  wire_slow_answers: setting(portion, 'Share of requests whose response is late by weather.wire_slow_by.', 0),
}

export const weather = {
  pack: setting(word, "Pack that is active from the start: 'none', or the name of a pack."),
  acceleration: setting(amountAboveZero, 'Multiplier of every rate of the pack.'),
  lemon_share: setting(portion, 'Share of the nodes that are unreliable (lemons).'),
  lemon_factor: setting(
    factor,
    'Failure rate of a lemon as a multiple of that of other nodes. The mean over all nodes is the rate of the pack.',
  ),
  fault_causes: setting(
    shares(['gpu', 'software', 'network', 'maintenance', 'other']),
    'Shares of the causes of node faults.',
  ),
  gpu_xids: setting(errorCounts, 'Error codes of faults caused by a GPU, with their counts.'),
  software_xids: setting(errorCounts, 'Error codes of faults caused by software, with their counts.'),
  degradation_factor: setting(factorDistribution, 'Factor by which a degraded GPU is slower.'),
  degradation_lasts: setting(timeDistribution, 'Time for which a GPU is slow.'),
  disk_full_lasts: setting(timeDistribution, 'Time for which a disk is full.'),
  spot_away: setting(timeDistribution, 'Time from a preemption to the return of spot capacity.'),
  zone_outage_lasts: setting(timeDistribution, 'Duration of a zone outage.'),
  stock_out_lasts: setting(timeDistribution, 'Duration of a stock-out of a GPU type.'),
  hub_outage_lasts: setting(timeDistribution, 'Duration of an outage of the hub.'),
  hub_throttle_lasts: setting(timeDistribution, 'Time for which the hub is slow.'),
  hub_throttle_factor: setting(factorDistribution, 'Factor by which a download from a slow hub is slower.'),
  registry_outage_lasts: setting(timeDistribution, 'Duration of an outage of the image registry.'),
  autoscaler_freeze_lasts: setting(timeDistribution, 'Duration of a freeze of the autoscaler.'),
  slow_provisioning_lasts: setting(timeDistribution, 'Duration of a period of slow provisioning.'),
  slow_provisioning_factor: setting(factorDistribution, 'Factor by which a new node takes longer in that period.'),
  tenant_day_swing: setting(
    portion,
    'Part of tenant_share by which other customers hold more GPUs in the afternoon, and fewer at night.',
  ),
  tenant_weekend_swing: setting(portion, 'Part of tenant_share by which other customers hold fewer GPUs on weekends.'),
  tenant_spread: setting(
    portion,
    'Largest difference of tenant_share from its mean on one day for one GPU type, as a part of tenant_share.',
  ),
  topup_delay_lasts: setting(timeDistribution, 'Delay of a late top-up.'),
  batch_wait_short: setting(timeDistribution, 'Short wait of a batch for capacity.'),
  batch_wait_long: setting(timeDistribution, 'Long wait of a batch for capacity.'),
  batch_wait_day: setting(timeDistribution, 'Wait of a batch for capacity that takes most of its window.'),
  wire_retry_after: setting(duration, 'Value of Retry-After in a 429 or 503 of a pack.', '30s'),
  wire_slow_by: setting(
    duration,
    'Shortest delay of a slow response. The longest is twice as long; delays are uniform.',
    '2s',
  ),
  packs: new NamedSections(packSettings),
}
