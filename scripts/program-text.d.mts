import type { Plugin } from 'esbuild';

export const programTexts: Plugin;
