/** The prefixes of other vendors' keys, which a service should not use for its own. */
import { assert, readFlag } from '../core/input.js';

interface Prefixed {
  readonly prefix: string;
  readonly insecureAcceptForeignPrefix?: boolean | undefined;
}

/**
 * Prefixes of other vendors' keys, before a `_`. Secret scanners report a matching text to that
 * vendor, which does not know the key. The service that does know it learns nothing.
 */
const FOREIGN_PREFIXES = new Set(
  `sk_live sk_test rk_live rk_test pk_live pk_test whsec
  github_pat ghp gho ghu ghs ghr glpat gldt glrt glcbt glptt glft glimt glagent gloas glsoat glffct
  xapp xoxa xoxb xoxc xoxd xoxe xoxo xoxp xoxr xoxs shpat shpca shppa shpss shptka
  lin_api lin_oauth npm pypi rubygems cio dckr_pat dckr_oat atlasv1 hvs hvb hvr pul pnu rdme
  sk_ant sk_proj sk_svcacct sk_lf pk_lf hf r8 gsk pplx xai lsv2_pt lsv2_sk fw
  dop_v1 doo_v1 dor_v1 hrku figd figo figu ntn pmak pscale_tkn pscale_pw pscale_oauth
  sbp sb_secret sb_publishable vcp vck vci vca vcr nfp nfo nfc glsa glc nrak nrjs sntrys sntryu
  sqp squ sqa sgp slk tfp tskey re phc phx dapi dp_pt dp_st dp_ct bkua bkct bkpat ccipat ccpat
  cfut cfat cfk tr_dev tr_prod napi xaat xapt rootly ops zpka aivenv1 sq0atp sq0csp aio fio
  atatt atctt xkeysib shippo_live shippo_test duffel_live duffel_test live_pub test_pub
  access_sandbox access_production`.split(/\s+/),
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
