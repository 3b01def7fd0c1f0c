/** `keyscope/stores/memory`. */
export { memoryStore } from './store.js';
