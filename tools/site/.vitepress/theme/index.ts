import './site.css'

// The default theme with the fonts of the system: the site asks no other host for anything, and has no font files.
export { default } from 'vitepress/theme-without-fonts'
