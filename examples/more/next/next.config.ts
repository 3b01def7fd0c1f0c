import type { NextConfig } from 'next';

// By itself Next gives each route a copy of its own.
const config: NextConfig = { serverExternalPackages: ['keyscope'] };

export default config;
