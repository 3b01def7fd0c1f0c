/** The hash for other runtimes. One module, because resolving each module takes time. */
export { sha256 } from '@noble/hashes/sha2.js';
export { bytesToHex } from '@noble/hashes/utils.js';
