/** Tests in several languages, and what runs them. */
import { expect } from 'vitest';
import type { FileChange } from '../../src/policy/tampering.ts';

const pytest = `import pytest
from shop import parse, total

def test_total():
    assert total([1, 2]) == 3
    assert total([]) == 0

def test_parse():
    got = parse("a:1")
    assert got == {"a": 1}
    with pytest.raises(ValueError):
        parse("a:")

@pytest.mark.parametrize("text,want", [
    ("a:1", 1),
    ("b:2", 2),
    ("c:-3", -3),
])
def test_each(text, want):
    assert list(parse(text).values())[0] == want
`;
const vitest = `describe('total', () => {
  it('adds', () => {
    expect(total([1, 2])).toBe(3);
    expect(total([])).toBe(0);
  });
  it('loads', async () => {
    await expect(load('x')).resolves.toEqual({ a: 1 });
  });
  it.each([[1, 1], [2, 4], [3, 9]])('squares %d', (n, want) => {
    expect(total([n, n])).toBe(want);
  });
});
`;
const go = `package shop

func TestTotal(t *testing.T) {
	cases := []struct{ in []int; want int }{
		{[]int{1, 2}, 3},
		{[]int{}, 0},
		{[]int{-1}, -1},
	}
	for _, c := range cases {
		if got := Total(c.in); got != c.want {
			t.Errorf("Total(%v) = %d, want %d", c.in, got, c.want)
		}
	}
}

func TestName(t *testing.T) {
	if Name() != "shop" {
		t.Fatal("bad name")
	}
}
`;
const rust = `#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(total(&[1, 2]), 3);
        assert!(total(&[]) == 0);
    }
}
`;
const junit = `class ShopTest {
  @Test
  void adds() {
    assertEquals(3, Shop.total(1, 2));
    assertEquals(0, Shop.total());
  }
  @Test
  void refuses() {
    assertThrows(IllegalArgumentException.class, () -> Shop.total(-1));
  }
  @ParameterizedTest
  @CsvSource({"1,1", "2,4", "3,9"})
  void squares(int a, int b) {
    assertEquals(b, Shop.square(a));
  }
}
`;
const rspec = `RSpec.describe Shop do
  it 'adds' do
    expect(Shop.total([1, 2])).to eq(3)
    expect(Shop.total([])).to eq(0)
  end
  it 'refuses' do
    expect { Shop.total(nil) }.to raise_error(ArgumentError)
  end
end
`;
const minitest = `class ShopTest < Minitest::Test
  def test_adds
    assert_equal 3, Shop.total([1, 2])
  end
end
`;
const exunit = `defmodule ShopTest do
  use ExUnit.Case
  test "adds" do
    assert Shop.total([1, 2]) == 3
    assert Shop.total([]) == 0
  end
end
`;
const xunit = `public class ShopTests {
    [Fact]
    public void Adds() {
        Assert.Equal(3, Shop.Total(1, 2));
        Assert.Equal(0, Shop.Total());
    }
    [Theory]
    [InlineData(1, 1)]
    [InlineData(2, 4)]
    public void Squares(int a, int b) {
        Assert.Equal(b, Shop.Square(a));
    }
}
`;
const bash = `#!/usr/bin/env bash
fail() { echo "FAIL: $1" >&2; exit 1; }
out=$(./shop total 1 2)
[ "$out" = 3 ] || fail "total"
diff <(./shop list) expected.txt
./shop quit | grep -q bye
`;

export const files = {
  'tests/test_shop.py': pytest,
  'src/shop.test.ts': vitest,
  'shop_test.go': go,
  'src/lib.rs': rust,
  'src/test/java/ShopTest.java': junit,
  'spec/shop_spec.rb': rspec,
  'test/shop_test.rb': minitest,
  'test/shop_test.exs': exunit,
  'tests/ShopTests.cs': xunit,
  'tests/smoke.sh': bash,
  'pytest.ini': '[pytest]\naddopts = -q\n',
  'conftest.py': 'import pytest\n',
  'package.json': '{\n  "scripts": {\n    "test": "vitest run"\n  }\n}\n',
  Makefile: 'test:\n\tpytest -q\n',
  'pom.xml': '<project>\n<properties>\n</properties>\n</project>\n',
  'build.gradle': 'test {\n  useJUnitPlatform()\n}\n',
  'vitest.config.ts': 'export default { test: {} };\n',
} as const;

export const py = 'tests/test_shop.py';
export const js = 'src/shop.test.ts';
export const goTest = 'shop_test.go';
export const java = 'src/test/java/ShopTest.java';
export const rb = 'spec/shop_spec.rb';
export const ex = 'test/shop_test.exs';
export const cs = 'tests/ShopTests.cs';
export const sh = 'tests/smoke.sh';
export const sum = '    assert total([1, 2]) == 3\n';

/** One of the files, with one place of it written otherwise. */
export const change = (path: keyof typeof files, from: string, to: string): FileChange => {
  const before = files[path];
  expect(before).toContain(from);
  return { path, before, after: before.replace(from, () => to) };
};
