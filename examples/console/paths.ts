/** The paths of the console's pages. */
export const BASE = '/console';
export const SIGN_IN = `${BASE}/sign-in`;
export const SIGN_OUT = `${BASE}/sign-out`;
export const SETTINGS = `${BASE}/settings`;
export const CONFIGURATION = `${SETTINGS}/configuration`;
/** The list of keys. The form for a new key and the page of each key are below it. */
export const KEYS = `${CONFIGURATION}/api-keys`;
/** The keys of other organizations that can address this one. */
export const ADDRESSING = `${KEYS}/addressing`;
