/** Starts the playground: by modules from a web server, and by one plain script from the file system, which has none. */

const script = document.createElement('script')
if (location.protocol === 'file:') {
  script.src = 'playground-from-files.js'
} else {
  script.type = 'module'
  script.src = 'playground.js'
}
document.head.append(script)

export {}
