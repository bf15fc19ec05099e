/**
 * What JSX becomes in the bundles of the page: elements of Preact, whose components follow the signals that they read.
 * The bundlers inject this file. Calls of `h` are shorter than those of the automatic runtime.
 */
import { type Component, type ComponentChildren, createElement, Fragment, type FunctionComponent } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { effect } from './store/signals.ts'

type Props = Readonly<Record<string, unknown>>
type View = FunctionComponent<Props>

/** For each component, the one that the page draws for it. */
const FOLLOWERS = new WeakMap<View, View>()

export { Fragment }

/** Creates an element, as `createElement` of Preact does. */
export function h(type: string | View, props: Props | null, ...children: ComponentChildren[]) {
  const drawn = typeof type === 'string' || type === Fragment ? type : followerOf(type)
  return createElement(drawn as View, props, ...children)
}

function followerOf(view: View): View {
  const known = FOLLOWERS.get(view)
  if (known !== undefined) return known
  const follower: View = function (this: Component, props) {
    return useFollowed(this, () => view.call(this, props))
  }
  FOLLOWERS.set(view, follower)
  return follower
}

/** Returns what a component draws. When a signal that it read changes, it is drawn again; with equal properties, it is not. */
function useFollowed(component: Component, draw: () => ComponentChildren): ComponentChildren {
  const stop = useRef<() => void>(undefined)
  useLayoutEffect(() => () => stop.current!(), [])
  component.shouldComponentUpdate ??= next => !areEqual(component.props, next)
  stop.current?.()
  let drawn: { readonly content: ComponentChildren } | undefined
  stop.current = effect(() => {
    if (drawn === undefined) drawn = { content: draw() }
    else component.forceUpdate()
  })
  return drawn!.content
}

function areEqual(one: Props, other: Props): boolean {
  return Object.keys({ ...one, ...other }).every(name => one[name] === other[name])
}
