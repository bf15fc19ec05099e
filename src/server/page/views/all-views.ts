/** The views of the page, in the order of their tabs. */
import type { FunctionComponent } from 'preact'
import { CausesView } from './causes-view.tsx'
import { ExploreView } from './explore/explore-view.tsx'
import { FaultsView } from './faults/faults-view.tsx'
import { FleetView } from './fleet/fleet-view.tsx'
import { LifecyclesView } from './lifecycles/lifecycles-view.tsx'
import { MoneyView } from './money/money-view.tsx'
import { RequestsView } from './requests/requests-view.tsx'
import { ThingsView } from './things-view.tsx'
import { WorldsView } from './worlds/worlds-view.tsx'

export interface View {
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
  { name: 'money', title: 'Money', glyph: '$', component: MoneyView },
  { name: 'requests', title: 'Requests', glyph: '⇄', component: RequestsView },
  { name: 'causes', title: 'Causes', glyph: '↳', component: CausesView },
  { name: 'faults', title: 'Faults', glyph: '⚡', component: FaultsView },
  { name: 'explore', title: 'Explore', glyph: '◎', component: ExploreView },
  { name: 'worlds', title: 'Worlds', glyph: '◉', component: WorldsView },
  { name: 'things', title: 'Things', glyph: '≡', component: ThingsView },
]
