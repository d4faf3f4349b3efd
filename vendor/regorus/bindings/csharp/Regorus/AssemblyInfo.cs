using System.Runtime.CompilerServices;

[assembly: InternalsVisibleTo("Regorus.Tests")]
