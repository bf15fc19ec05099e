import { useSession } from '../store/session.ts'
import { VIEWS } from '../views/all-views.ts'
import { ClockBar } from './clock-bar.tsx'
import { Header } from './header.tsx'
import { Notices } from './notices.tsx'
import { TokenPrompt } from './token-prompt.tsx'

export function App() {
  const session = useSession()
  const link = session.feed.link.value
  if (link === 'locked') return <TokenPrompt />
  const view = VIEWS.find(({ name }) => name === session.place.value.view) ?? VIEWS[0]!
  return (
    <>
      <a class="skip" href="#main">
        Skip to the view
      </a>
      <Header />
      <nav class="tabs" aria-label="Views">
        {VIEWS.map(({ name, title, glyph }) => (
          <a
            key={name}
            href={session.place.link({ view: name })}
            aria-current={name === view.name ? 'page' : undefined}
            title={title}
          >
            <span class="glyph" aria-hidden="true">
              {glyph}
            </span>
            <span class="tab-title">{title}</span>
          </a>
        ))}
      </nav>
      <ClockBar />
      <main id="main" tabIndex={-1} aria-label={view.title}>
        <view.component key={`${view.name} ${session.world.value}`} />
      </main>
      <Notices />
    </>
  )
}
