import { useSignal } from '@preact/signals'
import { useSession } from '../store/session.ts'
import { viewsOf } from '../views/all-views.ts'
import { ClockBar } from './clock-bar.tsx'
import { Finder } from './finder.tsx'
import { Header } from './header.tsx'
import { Help } from './help.tsx'
import { Inspector } from './inspector.tsx'
import { useKeyboard } from './keyboard.ts'
import { Notices } from './notices.tsx'
import { TokenPrompt } from './token-prompt.tsx'
import { Worlds } from './worlds.tsx'

export function App() {
  const session = useSession()
  const overlay = useSignal<'help' | 'finder' | 'worlds' | undefined>(undefined)
  const show = (which: typeof overlay.value) => {
    overlay.value = which
  }
  useKeyboard({
    openFinder: () => show('finder'),
    toggleHelp: () => show(overlay.value === 'help' ? undefined : 'help'),
    closeAll: () => {
      if (overlay.value !== undefined) return show(undefined)
      if (session.notice.value !== undefined) session.notice.value = undefined
      else session.place.go({ id: undefined })
    },
  })
  if (session.feed.link.value === 'locked') return <TokenPrompt />
  const { view: name, id } = session.place.value
  const views = viewsOf(session)
  const view = views.find(each => each.name === name) ?? views[0]!
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the view
      </button>
      <Header openFinder={() => show('finder')} openWorlds={() => show('worlds')} openHelp={() => show('help')} />
      <nav class="tabs" aria-label="Views">
        {views.map(({ name, title, glyph }) => (
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
        <h1 class="hidden">{view.title}</h1>
        <view.component key={`${view.name} ${session.world.value}`} />
      </main>
      {id !== undefined && <Inspector key={id} id={id} close={() => session.place.go({ id: undefined })} />}
      {overlay.value === 'help' && <Help close={() => show(undefined)} />}
      {overlay.value === 'finder' && <Finder close={() => show(undefined)} />}
      {overlay.value === 'worlds' && <Worlds close={() => show(undefined)} />}
      <Notices />
    </>
  )
}
