import { expect, test } from 'vitest';
import {
  includedIn,
  makeSettings,
  makeVariables,
  recipeOf,
  targetsNeeded,
} from '../../../src/core/policy/makefile.ts';

const settings = (text: string, path = 'Makefile') => Object.fromEntries(makeSettings(path, text));

test('a makefile is taken apart into targets, variables, and directives for all of them', () => {
  expect(
    settings(`# a comment
SHELL := /bin/sh
CC ?= cc
NOW := $(shell date)
export PATH
-include a.mk b/*.mk
.PHONY: check all
.ONESHELL:
ifeq ($(X),1)
endif
all check: lib.o | out
	cc $(CC)
# between
	echo \\
	  two
%.o: %.c
	cc $<
define BODY
anything: here
endef
check: FLAGS = -x
check:: more
`),
  ).toEqual({
    directives: `SHELL := /bin/sh
NOW := $(shell date)
export PATH
-include a.mk b/*.mk
.ONESHELL:
ifeq ($(X),1)
endif
%.o: %.c
	cc $<
`,
    'variable CC': 'CC ?= cc\n',
    'variable BODY': 'define BODY\nanything: here\nendef\n',
    'target all': '.PHONY\nall check: lib.o | out\n\tcc $(CC)\n\techo \\\n\t  two\n',
    'target check':
      '.PHONY\nall check: lib.o | out\n\tcc $(CC)\n\techo \\\n\t  two\ncheck: FLAGS = -x\ncheck:: more\n',
  });
});

test('a justfile is taken apart in the same way', () => {
  expect(
    settings(
      "set shell := ['sh']\nv := 'x'\ntest filter='': build\n  node --test\nimport 'x.just'\n",
      'justfile',
    ),
  ).toEqual({
    directives: "set shell := ['sh']\nimport 'x.just'\n",
    'target test': "test filter='': build\n  node --test\n",
    'variable v': "v := 'x'\n",
  });
});

test('what a part uses is read from its text', () => {
  expect(includedIn('-include a.mk $(wildcard conf/*.mk) # why\ninclude $(X)/b.inc\n')).toEqual([
    'a.mk',
    'conf/*.mk',
    '*/b.inc',
  ]);
  expect(makeVariables('$(CC) ${LD} $X $$HOME {{ just }} $(shell x)')).toEqual([
    'CC',
    'LD',
    'X',
    'just',
    'shell',
  ]);
  const target = '.PHONY\ncheck: a b | c # why\n\t@-node --test\n\techo \\\n\t  two\ncheck: d\n';
  expect(recipeOf(target)).toEqual(['node --test', 'echo \\\n\t  two']);
  expect(targetsNeeded(target).split(/\s+/)).toEqual(['a', 'b', 'c', 'd']);
});
