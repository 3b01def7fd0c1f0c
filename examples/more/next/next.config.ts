import type { NextConfig } from 'next';

// Without this, Next gives each route its own copy of keyscope.
const config: NextConfig = { serverExternalPackages: ['keyscope'] };

export default config;
