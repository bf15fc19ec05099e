/** Every request of the list at three transports, except those of the file for short tests. */

import { testTransports } from './equal-transports.ts'
import { firstOfEachStatus, ROWS } from './request-table.ts'

const rest = ROWS.map(row => {
  const first = firstOfEachStatus(row).cases
  return { ...row, cases: row.cases.filter(one => !first.includes(one)) }
})
testTransports(rest.filter(({ cases }) => cases.length > 0))
