/** What other runtimes load: one module, because each that Node has to find takes time. */
export { sha256 } from '@noble/hashes/sha2.js';
export { bytesToHex } from '@noble/hashes/utils.js';
