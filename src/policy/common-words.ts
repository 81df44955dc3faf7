/** Words that are common in programs and sentences: a line of these alone does not identify its source. */

const common = new Set(
  `
  about above added addition adipiscing after allow along already also always amet another apache append application
  april args argument ascii assert associated attachment attribute august authors available avoid back base basename
  bash because been before being between binary block both bound break buffer build bytes cache call cannot capture
  case change character charge check child class cleanup clear close code codec command common compatibility
  compatible compile compiler complete compliance condition configure consectetur constructor contain content context
  contextlib continue control convert copies copy copyright correct could count create current damages data debug
  december decode decoder default defined delete delitem details dict diff different directly directory dirname
  disclaimer disposition distribute distribution documentation does doesn dolor done double duplicate each echo either
  elif elit else empty encode encoder encoding ensure equal equality error errtrace escape even every example except
  exception executable exist exit expected express extend fail failure false february file filename final find first
  fitness fixture flag folder following form format found foundation friday from full func function functrace
  furnished general generate getattr getitem given global goal granted graph grep group handle hasattr have header
  help here hereby hope http ignore implement implementation implied import include including incremental index info
  information infra init input install instance instead intended interface internal into invalid ipsum isinstance
  issue item january join july june just keep keys kill kind kwargs label last later least left length less level
  liability liable library license like limitation limited line link list live load local logfile long loop lorem
  lower main major make manager mapping march mark match means merchantability message method minor missing mktemp
  mode modification modify module monday more most multiple must name necessary need negative next node none
  noninfringement note notice november null number object observed obtaining october once only open option optional
  order original other otherwise output over package parent parse parser part pass path pattern permission permitted
  person platform plus portions possible post prefix print printf process product program prompt property provide
  public publish purpose python raise range read received record redistribution reference remove replace repr request
  required restriction result return returncode reverse right root running runtime same saturday scenario script
  search second section self selftest sell separator september sequence setitem shape should simple since single size
  skip small software some source space spec special specific specified split standard start startswith state status
  stderr stdin stdout still stop stream strict string strip subject sublicense subprocess substantial such sunday
  super support system table target tempfile temporary term test text than that their them themselves then there these
  they this those three through thursday time timeout tmpdir trap true tuesday tuple type unbound undefined under
  unicode unknown until update usage used useful user uses using util valid value version want warn warranties
  warranty wednesday were what when where whether which while will windows with without work would wrapper write
  writer written yield your zero
  `
    .trim()
    .split(/\s+/),
);

const endings = ['s', 'es', 'ed', 'd', 'ing', 'ly', 'er'];

/** Whether a word, as `wordsOf` returns it, is in the list, with or without an ending. */
export const isCommon = (word: string): boolean =>
  common.has(word) ||
  endings.some((ending) => word.endsWith(ending) && common.has(word.slice(0, -ending.length)));

/** The words and numbers of a text with at least four characters, in lower case; each part of a camel-case name
 *  separately. Bytes beyond ASCII count as letters. */
export const wordsOf = (text: Buffer): string[] =>
  (text.toString('latin1').match(/[A-Z][a-z\x80-\xff]{3,}|[a-z\x80-\xff]{4,}|[A-Z]{4,}|\d{4,}/g) ?? []).map(
    (word) => word.toLowerCase(),
  );
