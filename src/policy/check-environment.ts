/** What commands that check a product get beyond their stage's environment: Python leaves no caches behind, which would
 *  stand in the tree as changes that nobody made. */
export function checkEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const options = [env['PYTEST_ADDOPTS'] ?? '', '-p no:cacheprovider'].filter((word) => word !== '');
  return { PYTHONDONTWRITEBYTECODE: '1', PYTEST_ADDOPTS: options.join(' ') };
}
