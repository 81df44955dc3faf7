import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerSchema } from '../../src/agents/program/answer.ts';
import { lineReader } from '../../src/agents/program/lines.ts';
import { documentVerdict, parseAnswer, reportOfText, spokenIn } from '../../src/core/agent-answer.ts';

const whole = {
  outcome: 'partial_success',
  preferred_next_label: 'L1',
  suggested_next_ids: ['x', 'y'],
  context_updates: { k: 'v', deep: { n: [1, null] } },
  verification_plan: { files: ['a'], commands: ['true'] },
  notes: 'my notes',
  failure_reason: 'r',
};

test('a whole answer is taken unchanged', () => {
  expect(parseAnswer(JSON.stringify(whole))).toEqual({
    answer: {
      outcome: 'partial_success',
      label: 'L1',
      suggested: ['x', 'y'],
      updates: { k: 'v', deep: { n: [1, null] } },
      verificationPlan: { files: ['a'], commands: ['true'] },
      notes: 'my notes',
      reason: 'r',
    },
  });
});

test.for([
  ['succeeded', 'success'],
  ['pass', 'success'],
  ['failed', 'fail'],
  ['failure', 'fail'],
  [' retry ', 'retry'],
] as const)('the outcome "%s" is read as %s, and nothing else needs to be said', ([said, outcome]) => {
  const nulls = {
    preferred_next_label: null,
    suggested_next_ids: null,
    verification_plan: null,
    context_updates: null,
  };
  for (const more of [{}, nulls, { unknown: 1 }]) {
    expect(parseAnswer(JSON.stringify({ outcome: said, ...more }))).toEqual({
      answer: { outcome, label: '', suggested: [], updates: {}, notes: '', reason: '' },
    });
  }
});

test.for([
  ['fail', '', 'the notes'],
  ['retry', ' ', 'the notes'],
  ['fail', 'the reason', 'the reason'],
  ['success', '', ''],
] as const)('a %s whose reason is "%s" has "%s" for one', ([outcome, failure_reason, reason]) => {
  const said = JSON.stringify({ outcome, failure_reason, notes: 'the notes' });
  expect(parseAnswer(said)).toMatchObject({ answer: { outcome, reason, notes: 'the notes' } });
});

test.for([
  ['', /^is not valid JSON: the answer is empty/],
  ['null', /^is null instead of a JSON object|^is not valid JSON/],
  ['[]', /^is an array instead of a JSON object$/],
  ['{"notes":"hm"}', /^missing outcome$/],
  ['{"outcome":" "}', /^missing outcome$/],
  [
    '{"outcome":"skipped"}',
    /^has the outcome "skipped", which is none of success, partial_success, retry, fail$/,
  ],
  ['{"outcome":"all good"}', /^has the outcome "all good"/],
  ['{"outcome":1}', /^has the outcome 1, which is none of/],
  ['{"outcome":"success","notes":{}}', /^has notes wrong: an object instead of a string$/],
  ['{"outcome":"success","suggested_next_ids":["a",1]}', /^has suggested_next_ids wrong/],
  [
    '{"outcome":"success","context_updates":[]}',
    /^has context_updates wrong: an array instead of an object$/,
  ],
  ['{"outcome":"success","verification_plan":{"commands":"x"}}', /^has verification_plan wrong/],
  [
    `{"outcome":"success","context_updates":${'{"a":'.repeat(5000)}1${'}'.repeat(5001)}`,
    /^is not valid JSON: .*nested/,
  ],
] as const)('the answer %s is refused, and the field is named', ([text, problem]) => {
  const read = parseAnswer(text);
  expect('problem' in read ? read.problem : 'accepted').toMatch(problem);
});

test('the schema is closed and asks for every field', () => {
  expect(answerSchema).toMatchObject({
    additionalProperties: false,
    required: Object.keys(whole),
    properties: {
      outcome: { enum: ['success', 'partial_success', 'retry', 'fail'] },
      context_updates: { additionalProperties: false, properties: {} },
    },
  });
});

test('lines come whole, wherever the text is cut', () => {
  const texts = fc.array(fc.constantFrom('a', 'é', '\r\n', '\n', 'bc', ''), { maxLength: 30 });
  fc.assert(
    fc.property(texts, (pieces) => {
      const told: string[] = [];
      const reader = lineReader((line) => told.push(line));
      for (const piece of pieces) reader.push(piece);
      reader.end();
      const wanted = pieces
        .join('')
        .split('\n')
        .map((line) => line.replace(/\r$/, ''));
      if (pieces.join('').endsWith('\n') || pieces.join('') === '') wanted.pop();
      expect(told).toEqual(wanted);
    }),
  );
});

test('a line that is too long is left out, and the next one is read', () => {
  const told: string[] = [];
  const reader = lineReader((line) => told.push(line));
  for (let n = 0; n < 17; n++) reader.push('x'.repeat(1024 * 1024));
  reader.push('\nnext\n');
  expect(told).toEqual(['next']);
});

const fence = '```';
const ansi = (text: string) => `\u001b[32m${text}\u001b[0m`;

test.for([
  ['alone', '{"outcome":"fail","notes":"n"}', 'fail'],
  ['after a byte order mark', '\ufeff{"outcome":"fail"}', 'fail'],
  ['in capitals', '{"outcome":"FAIL"}', 'fail'],
  ['in colours', ansi('{"outcome":"fail"}'), 'fail'],
  ['in a code fence', `${fence}json\n{"outcome":"success"}\n${fence}`, 'success'],
  ['in a fence after prose', `My verdict:\n\n${fence}json\n{"outcome":"fail"}\n${fence}\nThanks!`, 'fail'],
  ['on separate lines after prose', 'Done.\n{\n  "outcome": "success"\n}\n', 'success'],
  [
    'in the last of several lines of JSON',
    '{"type":"step","status":"failed"}\n{"outcome":"success"}',
    'success',
  ],
  ['after reasoning', '<think>maybe {"outcome":"success"}</think>\n{"outcome":"fail"}', 'fail'],
  [
    'after reasoning on separate lines',
    '<think>\n{"outcome":"success"}\n</think>\n{"outcome":"fail"}',
    'fail',
  ],
  ['after reasoning that was not opened', '{"outcome":"success"}\n</think>\n{"outcome":"fail"}', 'fail'],
  ['in an object inside', '{"result":{"outcome":"fail"}}', 'fail'],
  ['after a word and a colon', '**Verdict:** {"outcome":"fail"}', 'fail'],
  ['in a word alone', 'FAILED\n', 'fail'],
  ['twice the same', '{"outcome":"fail"}\n{"outcome":"failed","notes":"n"}', 'fail'],
  ['as a boolean', '{"success":false,"reason":"nope"}', 'fail'],
  ['as a boolean of success', '{"success":true}', 'success'],
  ['as a status', '{"status":"failed","message":"no"}', 'fail'],
  ['in its first line', 'STATUS: fail\nbecause', 'fail'],
  ['in its last line', 'All is well.\n\n**Outcome:** success', 'success'],
] as const)('what an answer says of the outcome where nothing asked for a form: %s', ([, text, outcome]) => {
  expect(spokenIn(text)).toMatchObject({ answer: { outcome } });
});

test.for([
  ['a boolean', '{"success":false,"reason":"nope"}', 'nope'],
  ['a line', 'STATUS: fail\nbecause', 'because'],
  ['an object', '{"outcome":"fail","failure_reason":"broken"}', 'broken'],
] as const)(
  'what an answer says of the outcome where nothing asked for a form: %s is a problem with its reason',
  ([, text, reason]) => {
    expect(spokenIn(text)).toMatchObject({ answer: { reason } });
  },
);

const named = { named: [{ test: '=', literal: 'has_dod' }], gate: false } as const;

test('a word that an edge names is a success with that label, any other is no outcome', () => {
  const said = '{"outcome":"has_dod","preferred_next_label":"x"}';
  for (const read of [spokenIn(said, named), parseAnswer(said, named), documentVerdict(said, named)])
    expect(read).toMatchObject({ answer: { outcome: 'success', label: 'has_dod', ownWord: true } });
  for (const read of [spokenIn(said), parseAnswer(said), documentVerdict(said)])
    expect(read).toEqual({
      problem: 'has the outcome "has_dod", which is none of success, partial_success, retry, fail',
    });
  expect(spokenIn('{"outcome":"all is well"}')).toMatchObject({
    problem: expect.stringContaining('outcome'),
  });
  expect(spokenIn('{"outcome":"skipped"}')).toMatchObject({ problem: expect.stringContaining('skipped') });
});

test.for([
  ['a trailing comma', '{"outcome":"fail","notes":"n",}'],
  ['an end in the middle', '{"outcome":"success","notes":"the thing is bro'],
  ['a fence and an end in the middle', `Verdict\n${fence}json\n{\n  "notes": "x",\n  "outcome": "succ`],
  ['single quotes', "{'outcome':'fail'}"],
  ['a comment', '{"outcome":"fail" /* no */}'],
  ['NaN', '{"outcome":"fail","context_updates":{"x":NaN}}'],
  ['a name without quotes', '{ outcome: "success" }'],
  ['a key given twice', '{"outcome":"fail","outcome":"success"}'],
  ['a key given twice in other letters', '{"outcome":"fail","outc\\u006fme":"success"}'],
  ['a key given twice inside', '{"result":{"outcome":"fail","outcome":"success"}}'],
  ['an object given twice', '{"result":{"outcome":"fail"},"result":{"outcome":"success"}}'],
  ['a flag given twice', '{"success":false,"success":true}'],
  ['two outcomes', '{"outcome":"success"}\n{"outcome":"fail"}'],
  ['two labels', '{"outcome":"success","preferred_next_label":"a"}\n{"outcome":"has_dod"}'],
  ['a line and an object that contradict', 'STATUS: fail\n{"outcome":"success"}'],
  ['a status and a flag that contradict', '{"success":true,"status":"fail"}'],
  ['two objects in one line', '{"outcome":"success"} {"outcome":"fail"}'],
  ['two objects in one line of prose', '{"outcome":"success"}, or rather {"outcome":"fail"}'],
  ['a broken object in the same line', '{"outcome":"success"} {outcome: fail}'],
  [
    'two code fences',
    `${fence}json\n{"outcome":"success"}\n${fence}\n${fence}\n{"outcome":"fail"}\n${fence}`,
  ],
  ['an unknown word in a line', '{"outcome":"success"}\nOutcome: rejected'],
  ['an object and a last line', `${fence}\n{"outcome":"success"}\n${fence}\n**Status:** failed`],
  ['a flag that contradicts its outcome', '{"outcome":"success","success":false}'],
  ['a status that contradicts its outcome', '{"outcome":"success","status":"failed"}'],
  ['its outcome in other case too', '{"Outcome":"fail","outcome":"success"}'],
  ['another key given twice', '{"outcome":"success","notes":"a","notes":"b"}'],
  ['a key given twice deep inside', '{"outcome":"success","context_updates":{"a":{"n":1,"n":2}}}'],
  ['an outcome of a prototype', '{"__proto__":{"outcome":"success"}}'],
  ['a prototype beside its outcome', '{"outcome":"success","__proto__":{"outcome":"fail"}}'],
  ['an outcome of another type', '{"outcome":true}'],
  ['another field of another type', '{"outcome":"success","notes":[1]}'],
] as const)(
  'what an answer says of the outcome where nothing asked for a form with %s is not guessed',
  ([, text]) => {
    expect(spokenIn(text)).toMatchObject({ problem: expect.stringMatching(/./) });
    expect('answer' in parseAnswer(text)).toBe(false);
  },
);

test.for([
  ['prose', 'All done, everything works.'],
  ['a refusal', "I'm sorry, but I can't help with that."],
  ['nothing', ' \n'],
  ['prose that quotes one', 'I cannot answer {"outcome":"success"} to this.'],
  ['reasoning that never ends', '<think>\n{"outcome":"success"}'],
  ['a document', '{"title":"x","status":"draft","tests":[{"outcome":"passed"}]}'],
  ['code', `Write\n${fence}js\n{\n  status: 200,\n}\n${fence}\nthere.`],
  ['code with a word and a colon', `${fence}js\nresult: { outcome: 'fail' },\n${fence}\nis what it needs.`],
  ['steps with a status', 'Step 1\nStatus: success\nStep 2\nStatus: failed\nThat was all.'],
] as const)(
  'what an answer says of the outcome where nothing asked for a form: %s gives none',
  ([, text]) => {
    expect(spokenIn(text)).toEqual({ none: true });
    expect('answer' in parseAnswer(text)).toBe(false);
  },
);

test('what an answer says of the outcome where nothing asked for a form of a large answer is found in time', () => {
  const text = '{\n'.repeat(200_000);
  expect(spokenIn(text)).toEqual({ none: true });
  expect(spokenIn(`${'<think>'.repeat(100_000)}${'x\n'.repeat(100_000)}`)).toEqual({ none: true });
});

test.for([
  ['{"outcome":"fail"}', 'fail'],
  ['{"outcome":"fail","notes":"n",}', 'problem'],
  ['{"outcome":"fail","outcome":"success"}', 'problem'],
  [`A plan:\n${fence}json\n{"outcome":"fail"}\n${fence}`, undefined],
  ['{"orders":[{"outcome":"fail"}],"result":{"outcome":"fail"}}', undefined],
  ['', undefined],
] as const)('the document %j has its own outcome: %s', ([text, expected]) => {
  const read = documentVerdict(text);
  const said = read === undefined ? undefined : 'problem' in read ? 'problem' : read.answer.outcome;
  expect(said).toBe(expected);
});

test('an answer that was asked for may stand after prose, and nothing but its outcome counts', () => {
  expect(parseAnswer(`Done.\n${fence}json\n{"outcome":"fail","notes":"n"}\n${fence}`)).toMatchObject({
    answer: { outcome: 'fail', notes: 'n' },
  });
  for (const text of [
    'STATUS: success',
    '{"success":true}',
    '{"status":"success"}',
    '{"result":{"outcome":"success"}}',
  ])
    expect(parseAnswer(text)).toHaveProperty('problem');
});

test.for([
  ['rejected', 'is none of'],
  ['**Rejected**', 'is none of'],
  ['Fail.', 'fail'],
  ['done', 'success'],
  ['has_dod', 'has_dod'],
  ['Has_DoD!', 'has_dod'],
  ['All is well.', 'none'],
  ['I have read it.\n\n**has_dod**', 'has_dod'],
  ['Outcome: "fail"', 'fail'],
  ['Outcome: fail - two tests are red', 'fail'],
  ['**Outcome:** success (12 tests pass)', 'success'],
  ['Outcome: not ok', 'is none of'],
  ['Outcome: all tests pass now, as they should.', 'none'],
  ['Verdict: FAIL', 'fail'],
  ['Verdict: it looks fine', 'none'],
  ['needs review.', 'needs review'],
  ['{"Outcome":"has_dod"}', 'has_dod'],
  ['{"OUTCOME":"no"}', 'is none of'],
  ['{"status":"has_dod"}', 'has_dod'],
  ['{"verdict":"fail","reason":"red"}', 'fail'],
  ['{"status":"completed"}', 'success'],
  ['{"status":"blocked","reason":"no key"}', 'is none of'],
  ['{"status":"draft","title":"x"}', 'none'],
  ['{"passed":false}', 'fail'],
] as const)('the answer "%s" where edges test the outcome says %s', ([text, wanted]) => {
  const words = [...named.named, { test: '=', literal: 'needs review' }] as const;
  const said = spokenIn(text, { ...named, named: words }, true);
  const told =
    'none' in said ? 'none' : 'problem' in said ? said.problem : said.answer.label || said.answer.outcome;
  expect(told).toContain(wanted);
});

test('at a goal gate a flag such as done is no verdict', () => {
  for (const text of ['{"done":true}', '{"ok":true}', '{"status":"done"}'])
    expect(spokenIn(text, { ...named, gate: true })).toEqual({ none: true });
});

test('a text whose form nothing but the prompt gave is an outcome only where edges test it and no file takes it', () => {
  const task = { settings: {}, named: named.named };
  const fail = '{"outcome":"fail","failure_reason":"red"}';
  expect(reportOfText(task, fail)).toEqual({ kind: 'answered', text: fail });
  const tested = { ...task, tested: true } as const;
  expect(reportOfText(tested, fail)).toMatchObject({ kind: 'finished', outcome: 'fail', reason: 'red' });
  expect(reportOfText(tested, 'has_dod')).toMatchObject({
    kind: 'finished',
    label: 'has_dod',
    ownWord: true,
  });
  expect(reportOfText(tested, 'rejected')).toMatchObject({
    kind: 'failed',
    class: 'agent',
    reason: expect.stringContaining('"rejected"'),
  });
  expect(reportOfText(tested, 'It is all there.')).toMatchObject({ kind: 'answered' });
  expect(reportOfText({ ...tested, settings: { response_file: 'x' } }, 'rejected')).toMatchObject({
    kind: 'answered',
  });
});
