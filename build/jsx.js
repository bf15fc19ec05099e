// Bundles of the control room inject this file: its JSX becomes calls of `h`, which are shorter than those of the automatic
// runtime.
export { Fragment, h } from 'preact'
