/** The prefixes of other vendors' keys, which a service should not use for its own. */
import { assert, readFlag } from '../core/input.js';

interface Prefixed {
  readonly prefix: string;
  readonly insecureAcceptForeignPrefix?: boolean | undefined;
}

/**
 * Prefixes of other vendors' keys, before a `_`: the best known, and those that a service might
 * choose by chance. Secret scanners report a matching text to that vendor, which does not know the
 * key. The service that does know it learns nothing.
 */
const FOREIGN_PREFIXES = new Set(
  `sk_live sk_test rk_live rk_test pk_live pk_test live_pub test_pub whsec sk_ant sk_proj
  access_sandbox access_production github_pat ghp gho ghu ghs ghr glpat gldt glrt xapp xoxa xoxb
  xoxc xoxd xoxe xoxo xoxp xoxr xoxs shpat shpca shppa shpss lin_api npm pypi hf hvs hvb hvr pul
  pnu r8 gsk xai dop_v1 sbp sb_secret vcp vck vci vca vcr nfp nfo nfc cio figd ntn fw glsa glc sqp
  squ sqa sgp slk tfp re phc phx dapi napi aio fio ops`.split(/\s+/),
);

/**
 * Throws on a prefix that scanners attribute to another vendor, unless the service accepts that.
 */
export function requireOwnPrefix({ prefix, insecureAcceptForeignPrefix }: Prefixed): void {
  const isAccepted = insecureAcceptForeignPrefix ?? false;
  if (readFlag(isAccepted, 'insecureAcceptForeignPrefix')) return;
  const instead = "is another vendor's; choose another, or set insecureAcceptForeignPrefix: true";
  assert(!FOREIGN_PREFIXES.has(prefix), `prefix: ${prefix} ${instead}`);
}
