return "from file " + document.title;
