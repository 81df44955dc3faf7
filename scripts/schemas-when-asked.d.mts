import type { Plugin } from 'esbuild';

export const schemasWhenAsked: Plugin;
