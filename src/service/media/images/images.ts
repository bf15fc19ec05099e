/** All code of images in one module, which is loaded when the first request needs it. */
export { drawImage } from './draw-image.ts'
export { readImageSize } from './image-file.ts'
export { InvalidImageError } from './png.ts'
