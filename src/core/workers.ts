/**
 * Whether this is Cloudflare Workers, where a query belongs to the request that sent it: it ends
 * with it, and whoever else waited for its answer would wait forever.
 */
export function isCloudflareWorkers(): boolean {
  return globalThis.navigator?.userAgent === 'Cloudflare-Workers';
}
