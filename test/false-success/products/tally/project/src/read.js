const line = /^(\d{4})-(\d\d)-(\d\d),(?:"([^"]*)"|([^",]+)),(-?\d+(?:\.\d{1,2})?)$/;

const dayExists = (year, month, day) => {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
};

/** The expenses of a text, and the places of lines that cannot be read. */
export function readExpenses(file, text) {
  const expenses = [];
  const wrong = [];
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    if (row.trim() === '' || row.startsWith('#')) continue;
    const [, year, month, day, quoted, plain, amount] = line.exec(row) ?? [];
    if (year === undefined || !dayExists(Number(year), Number(month), Number(day))) {
      wrong.push(`${file}:${index + 1}`);
      continue;
    }
    const cents = Math.round(Number(amount) * 100);
    expenses.push({ date: `${year}-${month}-${day}`, category: quoted ?? plain, cents });
  }
  return { expenses, wrong };
}
