/** Which words of a line say whose it is: those that programs and sentences everywhere have say nothing. */

/** Words of languages, shells, test tools and everyday sentences; a line of these alone could be anybody's. */
const common = new Set(
  `
  able about above abort access accept action actual adapter add added after again against agent alias align all alloc
  allow alone already also alter always amet among amount android another answer any anything apache api app append
  apple application apply apps apt arch archive are area arg argc argparse args argument arguments argv array arrays ascii
  ask assert asserted assertion assertions async asyncio atomic attribute attributes auth auto available await awk back background
  backend backup bad banner bar base basename bash basic batch beacon because become been before begin behavior behaviour behind
  being below bench best better between bigint binary bind bits blank block blocks body book bool boolean boot border both
  bottom box branch break broken brew browser buffer bufio bug build builder built builtin bundle button byte bytes cache
  call callback called caller calls cancel cannot capture card case cases cast cat catch cause cell center central chai chain
  change changed changes channel char character characters chars charset check checked checker checks child children chmod chunk class classes
  claude clean cleanup clear click client clone close closed cmake code codes coding collect color column columns command commands comment
  comments commit common compare compile complete completed component concat concurrency condition config configuration configure connect connection
  console const constant constructor contain container contains content contents context continue control convert copy core correct cost
  could count counter create created creates creating crate curl current custom cwd cycle daemon data database date datetime days debug decode
  def default defaults defer define defined delay delete deleted delta demo deno deny depend dependencies dependency deploy depth
  desc describe description dest destination detail details detect dev device diff different digest dimension dir directories directory dirname dirs
  disable disabled display dist docker docs document documentation does doesn done double down draft draw drop dump duplicate
  duration during dynamic each early earlier easy echo edge edit editor effect either elem element elements elif else emit empty
  enable enabled encode encoded encoding encounter end ending ends ensure enter entries entry enum env environ environment equal equality equals errno
  error errors escape escaped esac eslint etc eval even event events ever every everything exact exactly example examples except exception
  exceptions exec executable execute execution exist existing exists exit exitcode expand expect expected expects experimental explicit export exports
  expr expression extend extends extension extensions extern extra extract fail failed failing fails failure failures false fallback fast
  feature field fields file filename filepath files fileno fill filter final finally find finish first fixed fixture fixtures flag flags flex
  float floor flow flush fmt fn focus folder follow following font foot footer for force foreach fork form format formatted
  formatter found framework free freeze from full func function functions future gather general generate generated generator generic get
  gets getter git github gitignore give given global globals golang good goto gradle graph great greater greet grep group groups guard guide had half
  handle handled handler handlers hard has hash hasn have haven head header headers heading hello help helper helpers hence her here hidden
  hide high hint history hit hold home hook host hostname hour hours how however href html http https icon identifier ids
  ignore ignored image images immediate implement implementation implements import imported imports include included includes
  increment indent index indexof info inherit init initial initialize inline inner input inputs insert inside instance instanceof instead
  int integer interface internal interrupt interval into invalid invoke invoked io ipsum isn issue issues item items iter iterable iterator
  itself java javascript jest join json junit just keep kernel key keys keyword kill kind know known kotlin label lambda lang
  language large larger last later latest launch layout lazy leading least leave left legacy len length less let level levels
  lib library license like limit limits line lines link links linter linux list listen listener lists literal little load loaded loader
  local localhost locale location lock log logger logging logic login logs long longer look lookup loop lower lowercase machine macos made
  main make maker makes manager manifest manual many map mapping maps mark markdown marker mask master match matched matcher matches
  math maven max maximum may maybe mean means memory merge message messages meta metadata method methods might min minimum minute minutes
  mismatch missing mkdir mktemp mocha mock mocks mode model modified modify module modules moment monkeypatch month more most mount move moved much multi
  multiple must mutable name named names namespace native need needed needs negative nested network never new newline next nil nobody node nodes
  noexcept none nonzero noop normal normalize not note notes nothing notice now npm npx null nullable number numbers numeric object objects
  obj offset often old omit once one ones only onto opaque open opened operation operator opt option optional options optparse oracle
  order ordered orders origin original other others otherwise ourselves out outcome outer output outputs outside over overflow override overview own
  owner package packages padding page pages pair panic parallel param parameter parameters params parent parse parsed parser parses part
  partial parts pass passed passes password patch path pathlib paths pattern pause payload pending people perform performance period
  permission person ping pipe pipefail pipeline place placeholder plain platform play plus point pointer policy poll pool port position
  positional positive possible post posts pprint prefix prepare present press preserve preview previous primary print printed printf println prints
  priority private problem problems proc process processed processes produce product profile program progress project prompt promise promises properties
  property protected protocol prototype provide provided provider proxy public publish pull pure purpose push pushd popd put pwd pydantic pytest
  python quality query question queue quick quiet quit quote quoted quotes radius raise raised raises random range rather raw read readable
  reader readfile reading readme reads ready real really reason receive recent record records recover recursive redirect reduce ref refer reference
  refs regex regexp region register registry regular reject rejected rejects related relative release reload remain remote remove removed rename render renders
  repeat replace reply repo report reported reporter reports repository repr request requests require required requires reset resolve resolved resource response
  rest restore result results resume retry return returncode returned returning returns reverse right role root rope round route router row rows ruby rule rules
  run runner running runs runtime rust safe same sample save saved scan scanner schema scheme scope score script scripts search second seconds
  section secret secure security see seed select self send sense sent separate separator sequence serial serialize series serve server service
  session set sets setter setting settings setup several shadow shape share shared shell shellcheck shift short should shouldn show shown shuffle side sign
  signal signature silent similar simple simply since single site size skip skipped sleep slice small smaller smoke snapshot socket some
  something sort sorted sorts source sources space spaces span spawn spec special specific specified specify split spread spy stable stack stage standard start
  started starting starts startup startswith endswith state statement states static stats status stderr stdin stdlib stdout step steps still stop stopped
  storage store stored story str strategy stream strict string strings strip stroke struct structure stub style sub subject submit subprocess subtest
  success successful successfully such suffix suite sum summary super supply support supported sure switch symbol sync syntax synopsis sys system
  tab table tabs tag tags tail take taken target task tasks tear teardown tell tempdir tempfile template temporary temp tee terminal terminate test tested
  tester testing tests testcase text than that the their them then there these they thing things this those though thread threads three throw
  thrown throws thus tick ticket tid time timeout timer times timestamp title tmp tmpdir today todo together toggle token tokens told tomorrow too
  tool tools top topic total touch toward trace track tracker trailing transfer transform transition translate trap tree trigger trim true
  try trying tuple turn twice two type typed typeof types typescript typing ubuntu under undefined understand unexpected unhandled unicode union
  unique unit unittest unix unknown unless unlink unreachable unset unsigned until unused update updated updates upload upper uppercase url urls usage use
  used user username users uses using usr usual utf util utilities utils uuid valid validate validation validator value values var variable
  variables variant vector verbose verify version versions very via video view viewport visible visit vite vitest void wait waiting walk want wanted
  warn warning warnings was wasn watch way web well were what whatever when where whether which while whitespace who whole whose why
  width will window windows with within without word words work worker working works workspace world would wrap wrapper write writable writefile writer
  writes writing written wrong xargs xml yaml year years yes yesterday yet yield you your yourself zero zip zone
  dolor sit consectetur adipiscing elit sed eiusmod tempor incididunt labore dolore magna aliqua brown jumps lazy lorem alice
  rmtree makedirs mkdtemp isfile isdir listdir getenv setenv gettext kwargs setattr getattr hasattr isinstance issubclass dataclass
  staticmethod classmethod namedtuple defaultdict ordereddict functools itertools contextlib textwrap dedent linesep
  asserts assertequal asserttrue assertfalse assertin assertraises deepstrictequal deepequal strictequal toequal tobe
  tocontain tothrow usestate useeffect nullptr cout cerr endl iostream stdio printstacktrace arraylist hashmap hashset linkedlist
  junit jupiter mockito testify errorf fatalf sprintf fprintf unwrap expectation println eprintln dyn impl trait mut usize pub
  rspec minitest nunit xunit fact theory deliver delivered
  `
    .trim()
    .split(/\s+/),
);

const commonNumbers = new Set(
  '1000 1024 2000 2048 3000 3306 4000 4096 5000 5432 6379 8000 8080 8192 8443 8888 9000 9090 9999 10000 12345 123456 1234 16384 32768 65535 65536 100000 1000000 0644 0755 0600 0700 2020 2021 2022 2023 2024 2025 2026 2027 1970 3600 86400 60000 30000'.split(
    ' ',
  ),
);

/** The words of a text, in lower case: parts of identifiers by themselves, numbers too. */
export function wordsOf(text: string): string[] {
  return (
    text
      .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/\p{L}{2,}|\d{2,}/gu) ?? []
  );
}

/** Whether a word, as `wordsOf` gives it, is one that a line could be known by. */
export function isRare(word: string): boolean {
  if (/^\d/.test(word)) return word.length >= 4 && !commonNumbers.has(word);
  if (word.length < 4 || common.has(word)) return false;
  for (const ending of ['s', 'es', 'ed', 'd', 'ing', 'ly', 'er'])
    if (word.endsWith(ending) && common.has(word.slice(0, -ending.length))) return false;
  // `logfile`, `tmpdir`.
  for (let at = 3; at <= word.length - 3; at++)
    if (common.has(word.slice(0, at)) && common.has(word.slice(at))) return false;
  return true;
}
