/** How much an assertion says, in the words of many test tools, and whether another says less. */

const ofAssertions =
  /^(?:[aA]ssert\w*|[eE]xpect\w*|ASSERT\w*|EXPECT\w*|self|to(?:[A-Z]\w*)?|eq|be|is|in|or|[nN]ot|NOT|[tT]rue|TRUE|[fF]alse|FALSE|[nN]ull|NULL|None|[rR]equire|[aA]wait|[aA]nd|AND|this)$/;

/** Names in a statement, without those of the assertion itself: short ones only where there are no others. */
export const identifiers = (text: string): string[] => {
  const names = [...new Set(text.match(/[A-Za-z_]\w*/g) ?? [])].filter((name) => !ofAssertions.test(name));
  const long = names.filter((name) => name.length > 2);
  return long.length > 0 ? long : names;
};

const flat = (text: string): string => text.replace(/\s+/g, '');

/** An assertion that cannot fail. */
export function isTrivial(text: string): boolean {
  const bare = flat(text).replace(/;$/, '');
  return (
    /^(?:self\.)?assert(?:True|_true|_|\.ok|\.isTrue|!)?\(?(?:true|True|1|!0|notFalse|!false)(?:,.*)?\)?$/.test(
      bare,
    ) ||
    /^(?:Assert(?:ions)?\.)(?:True|IsTrue|assertTrue)\(true(?:,.*)?\)$/i.test(bare) ||
    /^expect\((true|1|"[^"]*"|'[^']*')\)\.to(?:Be|Equal|StrictEqual)\(\1\)$|^expect\(true\)\.(?:toBeTruthy|toBeDefined)\(\)$|^expect\(true\)\.to\.be\.true$/.test(
      bare,
    ) ||
    /^(?:self\.)?assert(?:_eq!|_equal|Equals?|\.equal|\.strictEqual|\.deepEqual)\((.+),\1\)$/.test(bare) ||
    /^assert(.+)==\1$/.test(bare) ||
    /(?:\sor\s+(?:True|1|not False)|\|\|\s*(?:true|:|1))\)*;?$/.test(text.trim()) ||
    // In Python a tuple is always true; an expectation of nothing, and one whose end nobody hears of, never fail.
    /^assert\s*\((?:[^()]|\([^()]{0,200}\)){0,400},\s*f?(["'])[^"']*\1\s*\)$/.test(text.trim()) ||
    /^expect\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)$/.test(bare) ||
    /\.catch\((?:\(\w*\)|\w+)=>(?:\{\}|null|undefined|void0)\)$/.test(bare) ||
    /\bgrep\s+(?:-\w+\s+)*(?:""|''|\.|'\.\*'|"\.\*")(?=\s|$)(?!\s*\|(?!\|))/.test(text) ||
    /^(?:true|:|\[1=1\]|test1=1|\[1-eq1\])(?:\|\|.*)?$/.test(bare)
  );
}

/** 3: the very value; 2: something of it; 1: that there is one. */
function strength(text: string): number {
  const bare = flat(text);
  if (isTrivial(text)) return 0;
  if (/^(?:if\s+!?\s*)?(?:\[\[?|test)\s/.test(text)) {
    if (/\s(?:==?|!=|-eq|-ne)\s/.test(text)) return 3;
    if (/\s-[nz]\s/.test(text)) return 1;
  }
  if (
    /\.toBe\((?:true|false)\)|assertEquals?\([^,]*,?(?:true|false)\b|==(?:True|true|False|false)\b|(?:is|===)(?:True|False|true|false)$/.test(
      bare,
    )
  )
    return 2;
  if (
    /toBeTruthy|toBeDefined|toBeFalsy|not\.toBe(?:Null|Undefined)\(|assertIsNotNone|isnotNone|assertNotNull|IsNotNull|\.NotNull\(|NotNil\(|!==?(?:null|undefined|None|nil)\)?;?$|toBeInstanceOf|(?:toBe|toEqual|toStrictEqual)\(expect\.any\(|assertIsInstance|isinstance\(|\.to\.exist|\.toBeTypeOf|expect\.anything|is_some\(\)|is_ok\(\)|toThrow\(\)|toHaveBeenCalled\(\)/.test(
      bare,
    )
  )
    return 1;
  if (
    /toContain|toMatch\(|toMatchObject|assertIn\(|assertRegex|assertGreater|assertLess|toBeGreaterThan|toBeLessThan|startswith|startsWith|endsWith|endswith|\.includes\(|\.contains\(|contains\(|Contains\(|>=|<=|[^=-]>[^=>]|[^<]<[^<=]|\bassert[^=]{0,400}\bin\b|objectContaining|arrayContaining|stringContaining|anyMatch|StartsWith|InDelta/.test(
      bare,
    ) &&
    !/==/.test(bare)
  )
    return 2;
  if (/^assert\b.*\sin\s/.test(text.trim()) && !/==/.test(bare)) return 2;
  if (
    /==|toBe\(|toEqual|toStrictEqual|assert_?eq|equal|Equal|\.is\(|isEqualTo|assertIsNone|toBeNull|toBeUndefined|toBeCloseTo|approx|AlmostEqual|toThrow\(.|assertRaises|raises\(|toHaveLength|toHaveBeenCalledWith|assertDict|assertList|must_equal|\.Be\(|BeEquivalentTo|eq\(|-eq|!=|toMatchSnapshot|toMatchInlineSnapshot|Errorf?\(|Fatalf?\(/.test(
      bare,
    )
  )
    return 3;
  return 1.5;
}

/** An assertion that names the one value that will not do; scripts say so of what they fail at. */
const but = /^(?!\[|test\b|if\b).*(?:!==?|\bassert_ne!|NotEquals?\(|\.not\.to(?:Be|Equal|StrictEqual)\()/;

/** Whether an assertion is a statement of its own: what is kept by a name, is one of several things or what a function
 *  comes to may be waited for by others. */
const isWhole = (text: string): boolean =>
  /^(?:void\s+)?expect\b/.test(text) &&
  !text.trimEnd().endsWith(',') &&
  text.split('(').length === text.split(')').length;

/** Whether the commands of a function only print: another may count, or call one that ends the script. */
const onlyTells = (body: string): boolean =>
  body
    .split(/;|&&|\|\|/)
    .every((one) => /^\s*(?:(?:echo|printf|:|true|(?:return|exit)(?:\s+0)?)(?:\s.*)?)?$/.test(one));

/** Why `after` says less than `before`; undefined where it does not. */
export function howWeaker(before: string, after: string): string | undefined {
  const definition = /^(?:function\s+)?\w+\s*\(\)\s*\{/;
  // What takes the place of a check is the call of it.
  if (definition.test(after) && !definition.test(before)) return undefined;
  const was = strength(before);
  const is = strength(after);
  if (is === 0 && was > 0) return 'the assertion cannot fail any more';
  const any =
    /(?:raises?\w*|Throws\w*|throw_error|should_panic)\W{0,2}(?:Base|Standard|Runtime)?(?:Exception|Throwable|Error)\b/i;
  if (any.test(after) && !any.test(before)) return 'any exception will do now';
  if (/\braise_error\b(?!\s*(?:[({A-Z]|do\b))/.test(after) && /\braise_error\b[\s(]+[A-Z:]/.test(before))
    return 'any exception will do now';
  const raised = /\braises\(\s*(\w[\w.]*)/.exec(before)?.[1];
  if (
    raised !== undefined &&
    /\braises\(\(([^)]*)\)/
      .exec(after)?.[1]
      ?.split(/[\s,]+/)
      .includes(raised)
  )
    return 'more exceptions will do now';
  const [, fails] = /^(?:function\s+)?(\w+)\s*\(\)\s*\{.*\b(?:exit|return)\s+[1-9]/.exec(before) ?? [];
  if (
    fails !== undefined &&
    new RegExp(`^(?:function\\s+)?${fails}\\s*\\(\\)\\s*\\{.*\\}`).test(after) &&
    onlyTells(/\{([^}]*)\}/.exec(after.replace(/\$\{[^}]*\}/g, '$'))?.[1] ?? '')
  )
    return 'what it is told of does not fail the script any more';
  const awaited = /^(?:await|return)\b/;
  const promises = /\.(?:resolves|rejects|eventually)\b/;
  if (promises.test(after) && awaited.test(before) && !awaited.test(after) && isWhole(after))
    return 'nobody waits for what it finds any more';
  if (was === 3 && is === 3 && !but.test(before) && but.test(after)) return 'any value but one will do now';
  if (is <= was - 1) return 'the assertion lets more pass than it did';
  const numbers = (text: string) => (text.match(/\d+(?:\.\d+)?(?:e[-+]?\d+)?/gi) ?? []).map(Number);
  const bones = (text: string) => flat(text).replace(/\d+(?:\.\d+)?(?:e[-+]?\d+)?/gi, '#');
  if (bones(before) !== bones(after)) return undefined;
  const pairs = numbers(before).map((value, at) => [value, numbers(after)[at] ?? value] as const);
  const bare = flat(before);
  const last = pairs.at(-1);
  if (last === undefined) return undefined;
  if (/places=|toBeCloseTo\([^,]+,|assertAlmostEqual\([^,]+,[^,]+,\d+\)/.test(bare) && last[1] < last[0])
    return 'fewer digits must agree';
  if (
    /(?:delta|tolerance|abs|rel|atol|rtol|epsilon|eps|margin|within|InDelta|InEpsilon)\w*[=(,:]/i.test(
      bare,
    ) &&
    last[1] > last[0]
  )
    return 'the tolerance is wider';
  return undefined;
}
