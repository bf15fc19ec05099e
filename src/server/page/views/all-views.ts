/** The views of the page, in the order of their tabs. */
import type { FunctionComponent } from 'preact'
import type { Session } from '../store/session.ts'
import { FaultsView } from './faults.tsx'
import { FleetView } from './fleet/fleet-view.tsx'
import { LifecyclesView } from './lifecycles/lifecycles-view.tsx'
import { MoneyView } from './money.tsx'
import { ReportView } from './report.tsx'
import { RequestsView } from './requests.tsx'

interface View {
  /** Its name in addresses: `#/fleet`. */
  readonly name: string
  readonly title: string
  /** Shown beside the title, and alone on narrow screens. */
  readonly glyph: string
  readonly component: FunctionComponent
}

export const VIEWS: readonly View[] = [
  { name: 'fleet', title: 'Fleet', glyph: '▦', component: FleetView },
  { name: 'lifecycles', title: 'Lifecycles', glyph: '☰', component: LifecyclesView },
  { name: 'requests', title: 'Requests', glyph: '⇄', component: RequestsView },
  { name: 'money', title: 'Money', glyph: '$', component: MoneyView },
  { name: 'faults', title: 'Faults', glyph: '⚡', component: FaultsView },
]
const REPORT: View = { name: 'report', title: 'Report', glyph: '◎', component: ReportView }

/** Returns the views that have something to show: that of a report is there if one was opened. */
export function viewsOf({ explored }: Session): readonly View[] {
  return explored.value.length > 0 ? [...VIEWS, REPORT] : VIEWS
}
